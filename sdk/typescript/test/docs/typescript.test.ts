import assert from 'node:assert/strict';
import { mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { Project, repository } from '../examples/project.js';
import { patternOf, programOf, sectionsOf } from './page.js';

const files = ['README.md', 'sdk/typescript/README.md', 'docs/typescript.md', 'docs/typescript/people.md', 'docs/typescript/operation.md'];
const pages = files.map((file) => ({
  file,
  sections: sectionsOf(readFileSync(path.join(repository, file), 'utf8')),
}));
const programs = pages.flatMap(({ file, sections }) => sections.map((section) => ({ file, ...section })));
const given = ['harness', 'agent', 'session'];
const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const pdf = `%PDF-1.4
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>endobj
trailer<</Root 1 0 R>>
startxref
9
%%EOF
`;

describe('the code in the pages', { concurrency: 2 }, () => {
  const project = new Project('page');
  after(() => project.remove());
  project.write('package.json', '{"type":"module"}');
  project.write('tsconfig.json', readFileSync(path.join(repository, 'examples/typescript/approvals/tsconfig.json'), 'utf8').replace('*.ts', '*/*.ts'));
  const world = readFileSync(path.join(import.meta.dirname, 'world.ts'), 'utf8');
  for (const [i, { code }] of programs.entries()) {
    mkdirSync(path.join(project.directory, String(i)));
    project.write(`${i}/world.ts`, world);
    project.write(`${i}/program.ts`, programOf(code, given, './world.js'));
    project.write(`${i}/screen.png`, Buffer.from(png, 'base64'));
    project.write(`${i}/report.pdf`, pdf);
  }

  for (const { file, sections } of pages) {
    it(`is found in ${file}`, () => {
      assert.notEqual(sections.length, 0);
    });
  }

  it('compiles under strict', async () => {
    assert.equal(await project.compile(), '');
  });

  for (const [i, { file, title, output }] of programs.entries()) {
    it(`runs as it stands in ${file}: ${title}`, async () => {
      const program = project.start(`${i}/program.ts`);
      assert.equal(await program.ended, 0, program.errors);
      if (output !== '') assert.match(program.output, patternOf(output));
    });
  }
});
