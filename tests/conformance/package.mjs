// Functions of an installed OpenClaw release, by the names that its sources give them.
//
// A release is a folder of bundled modules whose file names and exports change with every build, while the names of
// functions stay. Each function is looked for in the text of the modules, and a hook of Node's loader has its module
// export it while it is read: nothing on disk changes, and what runs is the published code.

import { readFileSync, readdirSync } from 'node:fs';
import { registerHooks } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

// What an export is called that the hook adds, so that it cannot meet one of the module's own.
const prefix = 'countersign_';

// The functions called `names` of the release whose package folder is `folder`.
export async function functions(folder, names) {
  const dist = path.join(folder, 'dist');
  const modules = readdirSync(dist).filter((name) => name.endsWith('.mjs'));
  const texts = new Map(modules.map((name) => [name, readFileSync(path.join(dist, name), 'utf8')]));
  const homes = new Map();
  for (const name of names) {
    const declaration = new RegExp(`^(?:async )?(?:function|const) ${name}\\b`, 'm');
    const found = [...texts].filter(([, text]) => declaration.test(text)).map(([module]) => module);
    if (found.length !== 1) throw new Error(`${name} is in ${found.length} modules: ${found.join(', ')}`);
    homes.set(found[0], [...(homes.get(found[0]) ?? []), name]);
  }
  const added = new Map([...homes].map(([module, inside]) => [pathToFileURL(path.join(dist, module)).href, inside]));
  registerHooks({
    load(url, context, next) {
      const loaded = next(url, context);
      const inside = added.get(url);
      if (!inside) return loaded;
      const exports = inside.map((name) => `${name} as ${prefix}${name}`).join(', ');
      return { ...loaded, source: `${loaded.source}\nexport { ${exports} };\n` };
    },
  });
  const result = {};
  for (const [url, inside] of added) {
    const module = await import(url);
    for (const name of inside) result[name] = module[prefix + name];
  }
  return result;
}

// The version that the package in `folder` says it is.
export function version(folder) {
  return JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8')).version;
}
