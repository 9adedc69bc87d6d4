/** A section of a page: its code, put together, and what that is said to write. */
export interface Section {
  readonly title: string;
  /** The code's blocks in their order, for one program. */
  readonly code: string;
  /** What the program writes, where the page shows it; `…` stands for anything. */
  readonly output: string;
}

const fence = /^```(\w*)\n([\s\S]*?)^```$/gm;

/** The sections of a page that have code. */
export function sectionsOf(markdown: string): Section[] {
  const sections: Section[] = [];
  for (const part of markdown.split(/^## /m).slice(1)) {
    const blocks = [...part.matchAll(fence)].map(([, language = '', text = '']) => ({ language, text }));
    const of = (language: string): string =>
      blocks
        .filter((block) => block.language === language)
        .map(({ text }) => text)
        .join('');
    const title = part.slice(0, part.indexOf('\n'));
    if (of('ts') !== '') sections.push({ title, code: of('ts'), output: of('text') });
  }
  return sections;
}

/** What a page has given its reader before: names that a program uses and does not make itself come from there. */
export function programOf(code: string, given: readonly string[], from: string): string {
  const missing = given.filter((name) => new RegExp(`\\b${name}\\b`).test(code) && !new RegExp(`\\b(?:const|using) ${name}\\b`).test(code));
  if (missing.length === 0) return `${code}export {};\n`;
  return `import { finished, ${missing.join(', ')} } from '${from}';\n${code}await finished();\n`;
}

/** A pattern of an output, where `…` stands for anything within a line. */
export function patternOf(output: string): RegExp {
  const quoted = output.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`);
  return new RegExp(`^${quoted.replaceAll('…', '.*')}$`);
}
