/** The page of open folders, in English. */
export const en = {
  title: 'Folders',
  search: 'Search open folders',
  failed: 'What happened in these folders could not be read:',
  since: (when: string) => `What they reached and changed is told by the history since ${when}.`,
  reached: (n: number) =>
    n === 0 ? 'Reached nothing' : n === 1 ? 'Reached 1 destination' : `Reached ${n} destinations`,
  reachedNothing: 'No run in it connected to anything outside.',
  reachedMore: (n: number) => (n === 1 ? 'and 1 more' : `and ${n} more`),
  runs: (n: number) => (n === 1 ? 'in 1 run' : `in ${n} runs`),
  changed: (n: number) => (n === 0 ? 'Changed nothing' : n === 1 ? 'Changed once' : `Changed ${n} times`),
  changedNothing: 'No run in it changed a file that is kept.',
  changedMore: (n: number) => (n === 1 ? '1 older line is in the history.' : `${n} older lines are in the history.`),
  by: 'by {agent}, {when}',
  putBack: 'Put back, {when}',
  history: 'Open History',
  connections: (n: number) =>
    n === 0 ? 'Connections: each is asked about' : n === 1 ? 'Connections: 1 rule' : `Connections: ${n} rules`,
  rules: 'Rules about connections',
  rulesNone: 'Whatever runs in it has to ask before it connects to anything.',
  removeRule: 'Remove',
  add: 'Add a destination…',
  addTitle: 'Add a destination',
  addLead: 'What runs in a box around this folder may then connect there without asking:',
  destination: 'Destination',
  destinationHelp: 'A host and a port, such as docs.rs:443. With *. in front it is every host below that name.',
  addDo: 'Allow it…',
  registries: 'Package registries',
  registriesLead:
    'With one switched on, packages of this kind are fetched without asking. What is sent there is bounded.',
  registriesAnywhere: 'allowed from any box already',
  registriesRefused: 'refused by a rule',
  until: { session: 'In this session', always: 'Until you remove it' },
  places: (n: number) =>
    n === 0 ? 'Files: as in every box' : n === 1 ? 'Files: 1 otherwise' : `Files: ${n} otherwise`,
  placesList: 'Files and folders that its boxes have otherwise',
  placesNone:
    'What runs in it writes only in the folder, and does not see your secrets, nor .env and private keys in the folder.',
  removePlace: 'As in every box again',
  addPlace: 'Add a file or folder…',
  placeTitle: 'Add a file or folder',
  placeLead: 'For what runs in a box around this folder:',
  place: 'File or folder',
  placeHelp: 'An absolute path, such as /home/ann/notes. A folder counts with everything in it.',
  placeDo: 'Allow it…',
  placeHide: 'Hide it',
  accessTitle: 'What they may do there',
  access: { write: 'may write', read: 'may read', hidden: 'hidden' },
  means: {
    write: 'Outside of the folder, where no box writes otherwise. What is changed there cannot be put back from here.',
    read: 'What every other box hides, such as .env: whatever runs here can read it, and send it where it may connect to.',
    hidden: 'It is not there for what runs here, although other boxes see it.',
  },
  unwritten: {
    path: 'Its box did not let it write {path}, as its output says.',
    something: 'Its box did not let it write something, as its output says.',
    give: 'Let it be written…',
  },
  atHand: {
    title: 'Open the folder at hand?',
    asked: '{agent} asked last in {folder}.',
    means:
      'Once it is open, commands there that you would be asked about run in a box at once: they write only there, do not see your secrets, and you are asked where they may connect to.',
    open: (time: string) => `Open it for ${time}…`,
    opened: 'It is open. The page Folders shows what happens there, and closes it.',
  },
  hint: 'Folders that are open for agents, and what may be reached from them, are on the page Folders.',
  go: 'Go to Folders',
};

/** A catalogue with the keys and parameters of the English one. */
export type FoldersCatalogue = typeof en;
