// Numbers as people of any language read them.

const UNITS = [
  [1e6, 'megabyte'],
  [1e3, 'kilobyte'],
  [1, 'byte'],
];

/** `1.5 MB`; with `whole` every byte counts. */
export function size(locale, bytes, whole = false) {
  const [factor, unit] = (!whole && UNITS.find(([least]) => bytes >= least)) || UNITS[2];
  const style = { style: 'unit', unit, unitDisplay: unit === 'byte' ? 'long' : 'short', maximumFractionDigits: unit === 'megabyte' ? 1 : 0 };
  return new Intl.NumberFormat(locale, style).format(bytes / factor);
}

/** The sizes of a file and of a limit, as exact as it takes to tell them apart. */
export function beside(locale, bytes, limit) {
  const whole = size(locale, bytes) === size(locale, limit);
  return { size: size(locale, bytes, whole), limit: size(locale, limit, whole) };
}

/** `PNG, JPEG, PDF`. */
export function kinds(types) {
  return types.map((type) => type.split('/')[1].toUpperCase()).join(', ');
}
