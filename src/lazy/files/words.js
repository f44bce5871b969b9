// Numbers as people of any language read them.

const UNITS = [
  [1e6, 'megabyte'],
  [1e3, 'kilobyte'],
  [1, 'byte'],
];

/** `1.5 MB`. */
export function size(bytes) {
  const [factor, unit] = UNITS.find(([least]) => bytes >= least) ?? UNITS[2];
  const number = new Intl.NumberFormat(undefined, { style: 'unit', unit, maximumFractionDigits: unit === 'megabyte' ? 1 : 0 });
  return number.format(bytes / factor);
}

/** `PNG, JPEG, PDF`. */
export function kinds(types) {
  return types.map((type) => type.split('/')[1].toUpperCase()).join(', ');
}
