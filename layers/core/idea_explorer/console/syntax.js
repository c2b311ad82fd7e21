// Colours for lines of code, by the ending of the file. It knows words, strings, numbers and comments: enough to read a
// change by. What it does not know stays as it is, and nothing is left out.

const C = `abstract as async await bool break case catch char class const continue default defer delete do double else enum export extends extern
false final finally float fn for foreach from func function go goto if impl implements import in instanceof int interface internal is let long
match mod mut namespace new nil null of override package private protected pub public readonly record ref return self sealed short static
string struct super switch this throw throws trait true try type typedef typeof undefined unsafe unsigned use using var virtual void volatile
where while with yield`;
const PYTHON = `and as assert async await break case class continue def del elif else except False finally for from global if import in is lambda
match None nonlocal not or pass raise return self True try while with yield`;
const SHELL = "case do done echo elif else end esac exit export false fi for function if in local null return set then true unless until while yes no on off";
const SQL = `select from where insert into values update set delete create table index view drop alter add primary key foreign references not null
and or in is as on join left right inner outer group by order having limit union all distinct case when then else end default`;
const words = (list) => new Set(list.split(/\s+/));

// the endings, how a comment begins, the marks around text of several lines, and the words
const LANGUAGES = [
	[/\.pyi?$/, "#", ['"""', "'''"], words(PYTHON)],
	[/\.(m?[jt]sx?|cjs|java|go|rs|c|h|cc|cpp|hpp|cs|kts?|swift|php|scala|dart|css|scss|json5?)$/, "//", [["/*", "*/"]], words(C)],
	[/(\.(sh|bash|zsh|rb|ya?ml|toml|ini|cfg|conf|env|tf|r|pl)|file)$/i, "#", [], words(SHELL)],
	[/\.sql$/i, "--", [["/*", "*/"]], words(`${SQL} ${SQL.toUpperCase()}`)],
];
const MAX_LINE = 1000;

/** A function that takes a line and the mark that is still open, and gives the parts as [kind, text] and the mark after it. */
export function highlighter(path) {
	const [, comment, blocks, known] = LANGUAGES.find(([ending]) => ending.test(path)) ?? [];
	if (!comment) return (line) => [[["", line]], null];
	const pairs = blocks.map((mark) => (Array.isArray(mark) ? mark : [mark, mark]));
	const quote = (mark) => mark.replace(/[/*]/g, "\\$&");
	const starts = pairs.map(([mark]) => quote(mark)).join("|") || "(?!)";
	const lead = comment === "#" ? "(?<![\\w$&])#" : comment;
	const TOKEN = new RegExp(`(${starts})|(${lead}.*)|("(?:[^"\\\\]|\\\\.)*"?|'(?:[^'\\\\]|\\\\.)*'?|\`[^\`]*\`?)|(\\b\\d[\\w.]*)|([A-Za-z_$][\\w$]*)`, "g");
	return (line, open) => {
		if (line.length > MAX_LINE) return [[["", line]], open];
		const parts = [];
		let at = 0;
		let mark = open;
		const kindOf = (pair) => (pair[0] === pair[1] ? "string" : "comment");
		while (at < line.length) {
			if (mark) {
				const end = line.indexOf(mark[1], at);
				const to = end < 0 ? line.length : end + mark[1].length;
				parts.push([kindOf(mark), line.slice(at, to)]);
				at = to;
				if (end >= 0) mark = null;
				continue;
			}
			TOKEN.lastIndex = at;
			const found = TOKEN.exec(line);
			if (!found) break;
			const [all, block, note, text, number, word] = found;
			if (found.index > at) parts.push(["", line.slice(at, found.index)]);
			at = found.index + all.length;
			if (block) {
				mark = pairs.find(([first]) => first === block);
				parts.push([kindOf(mark), block]);
			} else parts.push([note ? "comment" : text ? "string" : number ? "number" : known.has(word) ? "keyword" : "", all]);
		}
		parts.push(["", line.slice(at)]);
		return [parts, mark];
	};
}
