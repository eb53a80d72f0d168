// The tree of files that cases speak of, put on disk. In cases it is written as a placeholder.

import { chmodSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

// How a case writes the tree's root.
export const PLACEHOLDER = '$FX';

// Makes the tree in a new folder, which the caller removes, and answers its root.
export function fixture() {
  const root = realpathSync(mkdtempSync(path.join(tmpdir(), 'conformance-')));
  const file = new URL('../vectors/fixture.json', import.meta.url);
  const tree = JSON.parse(readFileSync(file, 'utf8').replaceAll(PLACEHOLDER, root));
  for (const entry of tree.entries) {
    if (entry.kind === 'dir') {
      mkdirSync(entry.path, { recursive: true });
      continue;
    }
    mkdirSync(path.dirname(entry.path), { recursive: true });
    if (entry.kind === 'symlink') {
      symlinkSync(entry.linkTarget, entry.path);
    } else {
      writeFileSync(entry.path, entry.content ?? '');
      chmodSync(entry.path, Number.parseInt(entry.mode, 8));
    }
  }
  return root;
}
