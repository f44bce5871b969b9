// Formulas as MathML, which browsers set themselves: no fonts and no styles come with it. The
// tree is taken from the library and the nodes are made here: a style is set as a property,
// never as an attribute, which strict policies forbid.

import temml from 'temml';

const MATHML = 'http://www.w3.org/1998/Math/MathML';
/** Bounds on what a source may make of itself. Links and pictures are never trusted. */
const LIMITS = { maxExpand: 200, maxSize: [20, 400], trust: false, strict: false, throwOnError: true };
/** Longer sources are shown as they are. */
const LONGEST = 4_000;

/** Attributes of layout only; nothing that leads anywhere or runs. */
const ALLOWED =
  /^(accent|accentunder|columnalign|columnlines|columnspacing|depth|dir|display|displaystyle|fence|form|frame|height|largeop|linethickness|lspace|mathbackground|mathcolor|mathsize|mathvariant|maxsize|minsize|movablelimits|notation|rowalign|rowlines|rowspacing|rspace|scriptlevel|separator|stretchy|symmetric|voffset|width|columnspan|rowspan|intent|arg)$/;

function make(tree) {
  if (tree.children === undefined) return new Text(tree.text ?? '');
  const node = /^m[a-z]+$/.test(tree.type ?? '') ? document.createElementNS(MATHML, tree.type) : new DocumentFragment();
  node.append(...tree.children.map(make));
  if (!node.setAttribute) return node;
  for (const [name, value] of Object.entries(tree.attributes ?? {})) {
    if (name === 'style') dress(node, value);
    else if (ALLOWED.test(name)) node.setAttribute(name, value);
  }
  for (const [name, value] of Object.entries(tree.style ?? {})) {
    dress(node, `${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}:${value}`);
  }
  if (tree.classes?.length) node.setAttribute('class', tree.classes.join(' '));
  return node;
}

/** Declarations without an address in them. */
function dress(node, declarations) {
  for (const declaration of declarations.split(';')) {
    const [name, value] = declaration.split(':');
    if (value && !/url|image/i.test(value)) node.style.setProperty(name.trim(), value.trim());
  }
}

/** The formula as a node, or nothing for a source that is none. */
export default (source, display) => {
  if (source.length > LONGEST) return undefined;
  try {
    const { __renderToMathMLTree: tree } = temml;
    const made = make(tree(source, { ...LIMITS, displayMode: display }));
    return made.nodeType === Node.ELEMENT_NODE ? made : undefined;
  } catch {
    return undefined;
  }
};
