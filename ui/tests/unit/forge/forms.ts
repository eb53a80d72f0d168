// The forge shows a form or reads updates only if it knows every key, and otherwise says so to nobody who changes them.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

type Fields = Record<string, unknown>;

/** Keys of an object; those with a question mark may be missing. */
const FORM = ['name', 'description', 'title?', 'labels?', 'assignees?', 'body'];
const ELEMENT = ['type', 'id', 'attributes', 'validations?'];
const ATTRIBUTES: Record<string, string[]> = {
  checkboxes: ['label', 'description?', 'options'],
  dropdown: ['label', 'description?', 'options', 'multiple?', 'default?'],
  input: ['label', 'description?', 'placeholder?', 'value?'],
  textarea: ['label', 'description?', 'placeholder?', 'value?', 'render?'],
};
const CHOOSER = ['blank_issues_enabled', 'contact_links?'];
const LINK = ['name', 'url', 'about'];
const UPDATES = ['version', 'updates'];
const UPDATE = [
  'package-ecosystem',
  'directory?',
  'directories?',
  'schedule',
  'cooldown?',
  'commit-message?',
  'groups?',
  'ignore?',
  'labels?',
  'open-pull-requests-limit?',
];

/** What each kind of update finds its versions in. */
const MANIFESTS: Record<string, string> = {
  cargo: 'Cargo.toml',
  npm: 'package.json',
  'github-actions': '.github/workflows',
};

/** What is wrong with a form for reports. */
export function faultsOfForm(name: string, text: string): string[] {
  const form = parse(text) as Fields;
  const faults = ofKeys('the form', form, FORM);
  const body = list(form['body']);
  const questions = body.filter(({ type }) => type !== 'markdown');
  if (questions.length === 0) faults.push('it asks for nothing');
  for (const element of body) faults.push(...ofElement(element));
  for (const key of ['id', 'label']) {
    const said = questions.map((question) =>
      key === 'id' ? question['id'] : (question['attributes'] as Fields)?.['label'],
    );
    said
      .filter((value, at) => said.indexOf(value) !== at)
      .forEach((twice) => faults.push(`${key} ${twice} is there twice`));
  }
  return faults.map((fault) => `${name}: ${fault}`);
}

function ofElement(element: Fields): string[] {
  const { type, id, attributes } = element;
  const inside = (attributes ?? {}) as Fields;
  if (type === 'markdown') {
    return [...ofKeys('markdown', element, ['type', 'attributes']), ...ofKeys('markdown', inside, ['value'])];
  }
  const known = ATTRIBUTES[String(type)];
  if (known === undefined) return [`nothing is called ${type}`];
  const where = `${type} ${id}`;
  const validations = (element['validations'] ?? {}) as Fields;
  return [
    ...ofKeys(where, element, ELEMENT),
    ...ofKeys(where, inside, known),
    ...ofKeys(where, validations, ['required?']),
    ...(/^[\w-]+$/.test(String(id)) ? [] : [`${where}: an id is letters, digits, - and _`]),
    ...(type === 'checkboxes'
      ? list(inside['options']).flatMap((option) => ofKeys(where, option, ['label', 'required?']))
      : []),
  ];
}

/** What is wrong with the page on which people choose a form. */
export function faultsOfChooser(name: string, text: string): string[] {
  const chooser = parse(text) as Fields;
  const links = list(chooser['contact_links']).flatMap((link) => ofKeys('a link', link, LINK));
  return [...ofKeys('the page', chooser, CHOOSER), ...links].map((fault) => `${name}: ${fault}`);
}

/** What is wrong with what says which versions are looked for; folders are below `root`. */
export function faultsOfUpdates(name: string, text: string, root: string): string[] {
  const all = parse(text) as Fields;
  const faults = ofKeys('the file', all, UPDATES);
  if (all['version'] !== 2) faults.push('the version is not 2');
  for (const update of list(all['updates'])) {
    const kind = String(update['package-ecosystem']);
    faults.push(...ofKeys(kind, update, UPDATE));
    const manifest = MANIFESTS[kind];
    const folders = [update['directory'] ?? update['directories'] ?? []].flat().map(String);
    if (manifest === undefined) faults.push(`nothing here is of ${kind}`);
    else if (folders.length === 0) faults.push(`${kind} is looked for nowhere`);
    else {
      const empty = folders.filter((folder) => !existsSync(join(root, folder, manifest)));
      faults.push(...empty.map((folder) => `${folder} has no ${manifest}`));
    }
    const { interval } = (update['schedule'] ?? {}) as Fields;
    if (!['daily', 'weekly', 'monthly'].includes(String(interval))) faults.push(`${kind} is looked for ${interval}`);
  }
  return faults.map((fault) => `${name}: ${fault}`);
}

function list(value: unknown): Fields[] {
  return Array.isArray(value) ? (value as Fields[]) : [];
}

function ofKeys(where: string, found: Fields, keys: string[]): string[] {
  const known = keys.map((key) => key.replace('?', ''));
  const unknown = Object.keys(found).filter((key) => !known.includes(key));
  const missing = keys.filter((key) => !key.endsWith('?') && !(key in found));
  return [
    ...unknown.map((key) => `${where} has ${key}, which nobody knows`),
    ...missing.map((key) => `${where} has no ${key}`),
  ];
}
