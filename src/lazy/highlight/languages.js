// What the tokenizer knows of each language: rules in the order in which they are tried, and
// words. A rule with `to` goes on until that, over lines too.

const rule = (kind, from, to) => ({ kind, from, to });

const NUMBER = rule('number', String.raw`\b(?:0[xX][\da-fA-F_]+|0[bB][01_]+|\d[\d_]*(?:\.\d[\d_]*)?(?:[eE][+-]?\d+)?)[a-zA-Z]?\w*`);
const WORD = rule('word', String.raw`[A-Za-z_$@][\w$]*`);
const DOUBLE = rule('string', String.raw`"(?:\\.|[^"\\\n])*"?`);
const SINGLE = rule('string', String.raw`'(?:\\.|[^'\\\n])*'?`);
const SLASHES = rule('comment', String.raw`\/\/.*`);
const BLOCK = rule('comment', String.raw`\/\*`, String.raw`\*\/`);
const HASH = rule('comment', String.raw`#.*`);
const C = [SLASHES, BLOCK, DOUBLE, SINGLE, NUMBER, WORD];

const FLOW = 'if else for while do switch case default break continue return try catch finally throw';
const OBJECTS = 'class extends implements interface enum public private protected static abstract final new this super import package';
const BASIC = 'int long short byte char float double boolean bool void string';

const js = {
  rules: [SLASHES, BLOCK, rule('string', '`', String.raw`(?:^|[^\\])(?:\\\\)*` + '`'), DOUBLE, SINGLE, NUMBER, WORD],
  words: `${FLOW} ${OBJECTS} const let var function async await yield of in instanceof typeof delete export from as void with readonly type namespace declare keyof satisfies get set`,
  types: 'string number boolean any unknown never object symbol bigint',
  constants: 'true false null undefined NaN Infinity',
  capitals: true,
};
const java = {
  rules: [rule('meta', String.raw`@\w+`), ...C],
  words: `${FLOW} ${OBJECTS} throws instanceof synchronized volatile transient native record sealed permits var val fun when object companion data override open internal suspend by lazy is in out namespace using virtual async await get set ref foreach sealed partial`,
  types: `${BASIC} var`,
  capitals: true,
};
const c = {
  rules: [rule('meta', String.raw`^\s*#\s*\w+.*`), ...C],
  words: `${FLOW} ${OBJECTS} goto struct union typedef sizeof const extern inline register volatile namespace using template typename virtual override operator friend constexpr auto noexcept delete mutable explicit co_await co_return`,
  types: `${BASIC} unsigned signed size_t uint8_t uint16_t uint32_t uint64_t int8_t int16_t int32_t int64_t`,
  constants: 'true false NULL nullptr',
  capitals: true,
};
const rust = {
  rules: [
    SLASHES, BLOCK, rule('meta', String.raw`#!?\[[^\]]*\]`),
    rule('string', 'r#"', '"#'), rule('string', String.raw`b?"`, String.raw`(?:^|[^\\])(?:\\\\)*"`),
    rule('string', String.raw`b?'(?:\\[^']+|[^'\\])'`), rule('meta', String.raw`'[a-z_]\w*`),
    rule('name', String.raw`\b[a-z_]\w*!`), NUMBER, WORD,
  ],
  words: 'as async await break const continue crate dyn else enum extern fn for if impl in let loop match mod move mut pub ref return self Self static struct super trait type unsafe use where while union',
  types: 'bool char str u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64',
  constants: 'true false None Some Ok Err',
  capitals: true,
};
const go = {
  rules: [SLASHES, BLOCK, rule('string', '`', '`'), DOUBLE, SINGLE, NUMBER, WORD],
  words: 'break case chan const continue default defer else fallthrough for func go goto if import interface map package range return select struct switch type var',
  types: `${BASIC} error rune any uint uint8 uint16 uint32 uint64 int8 int16 int32 int64 float32 float64 uintptr`,
  constants: 'true false nil iota',
  capitals: true,
};
const python = {
  rules: [
    HASH, rule('string', String.raw`[rbfuRBFU]{0,2}"""`, '"""'), rule('string', String.raw`[rbfuRBFU]{0,2}'''`, "'''"),
    rule('string', String.raw`[rbfuRBFU]{0,2}"(?:\\.|[^"\\\n])*"?`), rule('string', String.raw`\b[rbfuRBFU]{1,2}'(?:\\.|[^'\\\n])*'?`),
    SINGLE, rule('meta', String.raw`@[\w.]+`), NUMBER, WORD,
  ],
  words: 'and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield match case self cls',
  types: 'int str float bool list dict set tuple bytes object',
  constants: 'True False None',
  capitals: true,
};
const ruby = {
  rules: [HASH, DOUBLE, SINGLE, rule('number', String.raw`:[a-zA-Z_]\w*`), rule('meta', String.raw`@{1,2}\w+`), NUMBER, WORD],
  words: 'alias and begin break case class def defined do else elsif end ensure for if in module next not or redo rescue retry return self super then undef unless until when while yield require attr_reader attr_accessor puts',
  constants: 'true false nil',
  capitals: true,
};
const php = { ...java, rules: [HASH, rule('name', String.raw`\$\w+`), ...C], words: `${java.words} function echo use namespace foreach as fn match require include isset unset array trait` };
const swift = { ...java, words: `${FLOW} ${OBJECTS} func let var guard struct protocol extension where in is as inout mutating throws rethrows async await some any init deinit self weak defer typealias associatedtype`, types: 'Int String Bool Double Float Character Void Any', constants: 'true false nil' };
const bash = {
  rules: [
    rule('comment', String.raw`(?:^|(?<=\s))#.*`), rule('string', String.raw`"`, String.raw`(?:^|[^\\])(?:\\\\)*"`), rule('string', "'", "'"),
    rule('name', String.raw`\$\{[^}]*\}?|\$[\w@*#?!-]+`), rule('meta', String.raw`(?<=\s)--?[A-Za-z][\w-]*`), NUMBER, rule('word', String.raw`[A-Za-z_][\w-]*`),
  ],
  words: 'if then else elif fi for while until do done case esac in function return local export source set unset exit sudo cd echo',
  constants: 'true false',
};
const sql = {
  rules: [rule('comment', '--.*'), BLOCK, SINGLE, rule('name', String.raw`"[^"]*"|` + '`[^`]*`'), NUMBER, WORD],
  words: 'select from where and or not in is as on join left right inner outer full cross group by order having limit offset insert into values update set delete create table index view drop alter add column primary key foreign references unique check default distinct union all case when then else end exists between like ilike returning with recursive begin commit rollback cascade constraint if over partition',
  types: 'int integer bigint smallint text varchar char boolean date timestamp timestamptz numeric decimal real json jsonb uuid serial float double',
  constants: 'true false null',
  caseless: true,
};
const json = { rules: [SLASHES, BLOCK, rule('name', String.raw`"(?:\\.|[^"\\\n])*"(?=\s*:)`), DOUBLE, rule('number', String.raw`-?\b\d[\d.eE+-]*`), WORD] };
const yaml = {
  rules: [
    rule('comment', String.raw`(?:^|(?<=\s))#.*`), rule('name', String.raw`^\s*(?:-\s+)*[\w.$/-]+(?=\s*:(?:\s|$))`), DOUBLE, SINGLE,
    rule('meta', String.raw`[&*!][\w-]+|^---.*`), NUMBER, rule('word', String.raw`[A-Za-z_][\w-]*`),
  ],
  constants: 'true false null yes no on off',
};
const toml = {
  rules: [HASH, rule('type', String.raw`^\s*\[{1,2}[^\]]*\]{1,2}`), rule('name', String.raw`^\s*[\w."-]+(?=\s*=)`), rule('string', '"""', '"""'), DOUBLE, SINGLE, NUMBER, WORD],
};
const html = {
  rules: [
    rule('comment', '<!--', '-->'), rule('meta', '<![A-Za-z][^>]*>|<\\?[^>]*>'), rule('tag', String.raw`<\/?[A-Za-z][\w:.-]*|\/?>`),
    rule('name', String.raw`[\w:@.-]+(?==)`), DOUBLE, SINGLE, rule('number', '&#?\\w+;'),
  ],
  constants: '',
};
const css = {
  rules: [
    BLOCK, SLASHES, DOUBLE, SINGLE, rule('meta', String.raw`@[\w-]+`), rule('name', String.raw`--[\w-]+|[a-z-]+(?=\s*:\s)`),
    rule('number', String.raw`#[\da-fA-F]{3,8}\b|-?\b\d[\d.]*(?:%|[a-z]+)?`), rule('tag', String.raw`[.#][A-Za-z_][\w-]*|::?[a-z-]+`),
  ],
};
const diff = {
  rules: [rule('meta', String.raw`^(?:@@|diff |index |\+\+\+|---).*`), rule('string', String.raw`^\+.*`), rule('keyword', '^-.*')],
};

/** By their names. */
export const LANGUAGES = { js, java, c, rust, go, python, ruby, php, swift, bash, sql, json, yaml, toml, html, css, diff };

/** Other names of them. */
export const NAMES = {
  javascript: 'js', jsx: 'js', mjs: 'js', cjs: 'js', ts: 'js', tsx: 'js', typescript: 'js', node: 'js',
  kotlin: 'java', kt: 'java', scala: 'java', cs: 'java', csharp: 'java', 'c#': 'java', groovy: 'java', dart: 'java',
  cpp: 'c', 'c++': 'c', h: 'c', hpp: 'c', cc: 'c', objc: 'c', 'objective-c': 'c',
  rs: 'rust', golang: 'go', py: 'python', python3: 'python', rb: 'ruby',
  sh: 'bash', shell: 'bash', zsh: 'bash', console: 'bash', terminal: 'bash', dockerfile: 'bash', powershell: 'bash', ps1: 'bash',
  postgres: 'sql', postgresql: 'sql', mysql: 'sql', sqlite: 'sql', psql: 'sql',
  jsonc: 'json', json5: 'json', yml: 'yaml', ini: 'toml', conf: 'toml', properties: 'toml',
  xml: 'html', svg: 'html', vue: 'html', svelte: 'html', xhtml: 'html', scss: 'css', less: 'css', sass: 'css', patch: 'diff',
};
