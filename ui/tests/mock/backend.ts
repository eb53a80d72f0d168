import { isSameRun } from '../../src/lib/bursts';
import { BackendError, type Backend } from '../../src/lib/ipc';
import type {
  AgentPreview,
  AgentPreviewParams,
  AgentsView,
  CallRule,
  Card,
  ChangedBy,
  Confirmation,
  ConnectionsView,
  DocumentEdit,
  DocumentView,
  EffectiveView,
  ErrorCode,
  FirstSteps,
  FolderAtHand,
  KeptParams,
  HistoryEntry,
  Impact,
  Loosening,
  Mistake,
  Outcome,
  PolicyRead,
  Refusals,
  PolicyStores,
  RuleEdit,
  RulesView,
  RunningView,
  SampleRun,
  ScopeView,
  Settings,
  Status,
  UiEvent,
  UiMessage,
} from '../../src/lib/protocol';
import { agents as sampleAgents, backups, preview, written } from './agents';
import { apply, connections as sampleConnections } from './connections';
import { document as sampleDocument, history as sampleHistory, resolved, tested } from './document';
import { behind, doings, sessionsBehind, namedDestination, registries, type Doings } from './folders';
import * as kept from './kept';
import { keyOf, reads as sampleReads, stores as sampleStores, unavailable } from './policies';
import { revoked, routed, routing } from './routing';
import { removeTarget, sampled, saveTarget, setForward } from './forward';
import { disconnect, forget, removeSource, retrySource, saveSource, setServer } from './pets';
import { applyRuleEdit, callViewOf, rules as sampleRules } from './rules';
import { shown } from './text';
import { explained } from './explained';

/** A call that a page made, for tests to look at. */
export interface Call {
  name: string;
  args: unknown[];
}

/** The app, played by a few lists. Tests reach it as `window.mock`. */
export class MockBackend implements Backend {
  calls: Call[] = [];
  confirmations: Confirmation[] = [];
  dismissed: string[] = [];
  status: Status = {
    version: '0.1.0',
    store: { kind: 'ready' },
    storePath: '/home/mina/.openclaw/exec-approvals.json',
    socket: { kind: 'listening' },
    socketPath: '/home/mina/.openclaw/exec-approvals.sock',
    tray: 'present',
    notifications: 'present',
    display: { kind: 'ok' },
    recording: { kind: 'works' },
    shortages: [],
    standing: { kind: 'asking' },
    paused: false,
  };
  settings: Settings = {
    theme: 'system',
    language: 'en',
    armDelayMs: 1_500,
    notifications: true,
    forwardedGrants: 'with-snapshot',
    limits: { waiting: 256, runSeconds: 0, outputKb: 200, historyMb: 128 },
  };
  view: DocumentView = sampleDocument(Date.now());
  lines: HistoryEntry[] = sampleHistory(Date.now());
  /** What is behind lines about changes, by their position. */
  kept: Record<number, kept.KeptFolder> = behind();
  /** What is behind the sessions of lines about changes, by the position of the line. */
  sessions: Record<number, kept.KeptWhole> = sessionsBehind();
  runs: RunningView[] = [];
  /** What happened in open folders, by the folder. */
  doings: Record<string, Doings> = doings(Date.now());
  atHand: FolderAtHand | null = null;
  /** From when on the history tells of folders; `null` where it is whole. */
  foldersSince: number | null = null;
  ruleView: RulesView = sampleRules(Date.now());
  gateways: ConnectionsView = sampleConnections(Date.now());
  routes = routing(Date.now());
  agentsView: AgentsView = sampleAgents(Date.now());
  firstSteps: FirstSteps = 'over';
  /** What the next change of an agent's settings comes to, when it is not the usual. */
  previews: AgentPreview[] = [];
  /** What becomes of a sample request. */
  sample: SampleRun = { kind: 'ran', output: shown('Linux mina 6.8.0 x86_64 GNU/Linux') };
  /** Documents of other machines, and what comes of reading each. */
  farStores: PolicyStores = sampleStores();
  /** What rules refuse, as policies say it; as in the sample where nothing else is said. */
  refusals: Refusals | null = null;
  farReads: Record<string, PolicyRead> = sampleReads(Date.now());
  /** What the next edit would loosen. */
  loosens: Loosening[] = [];
  /** What the next edit would do. */
  impact: Impact | null = null;
  /** Errors for the next calls, by method. */
  failures: Partial<Record<keyof Backend, { code: ErrorCode; message: string; mistake: Mistake | null }[]>> = {};
  /** Calls that are not answered before these resolve, by method. */
  held: Partial<Record<keyof Backend, Promise<void>>> = {};
  /** Whether commands run in the box whose folder was opened for them; else they are asked about all the same. */
  boxes = true;
  /** Outcome of the next decision, when it is not the one its button names. */
  surprise: Outcome | null = null;
  started = false;

  #cards = new Map<string, Card>();
  #seq = 0;
  /** Number of the last message, lost or not, for those who follow. */
  #told = 0;
  #paint = 0;
  #hash = 1;
  #previews = 0;
  #shown: { id: string; params: AgentPreviewParams } | null = null;
  #followers = new Set<(message: UiMessage) => void>();

  /** What waits, oldest first. */
  get cards(): Card[] {
    return [...this.#cards.values()];
  }

  set cards(cards: Card[]) {
    this.#cards = new Map(cards.map((card) => [card.id, card]));
  }

  /** Tells every page, as the app would. */
  emit(event: UiEvent): void {
    if (event.kind === 'card-added') this.#cards.set(event.card.id, event.card);
    if (event.kind === 'card-closed') this.#cards.delete(event.id);
    if (event.kind === 'settings-changed') this.settings = event.settings;
    if (event.kind === 'status-changed') this.status = event.status;
    if (event.kind === 'confirmation-added') this.confirmations = [...this.confirmations, event.confirmation];
    if (event.kind === 'confirmation-closed') {
      this.confirmations = this.confirmations.filter(({ id }) => id !== event.id);
    }
    this.#seq += 1;
    for (const follower of this.#followers) follower({ after: this.#told, seq: this.#seq, event });
    this.#told = this.#seq;
  }

  /** Uses up a number without telling anybody, as a lost message would. */
  skip(): void {
    this.#seq += 1;
    this.#told = this.#seq;
  }

  /** Something is told to other windows only. */
  elsewhere(): void {
    this.#seq += 1;
  }

  fail(name: keyof Backend, code: ErrorCode, message: string, mistake: Mistake | null = null): void {
    (this.failures[name] ??= []).push({ code, message, mistake });
  }

  /** Something changed a folder, or put it back. */
  changed(entry: HistoryEntry, folder: kept.KeptFolder): void {
    this.lines = [entry, ...this.lines];
    this.kept[entry.seq] = folder;
    this.emit({ kind: 'history-appended', entry });
  }

  /** Somebody made rules about calls. */
  addCalls(calls: CallRule[]): void {
    this.ruleView.calls.push(...calls.map(callViewOf));
    this.#hash += 1;
    this.ruleView = { ...this.ruleView, hash: `hash-${this.#hash}` };
    this.emit({ kind: 'rules-changed', hash: this.ruleView.hash });
  }

  /** Another program writes the document. */
  changeElsewhere(by: ChangedBy = 'another-program'): void {
    this.#bump();
    this.emit({ kind: 'document-changed', hash: this.view.hash, by });
  }

  follow = async (receive: (message: UiMessage) => void) => {
    this.#followers.add(receive);
    this.started = true;
    return () => void this.#followers.delete(receive);
  };

  snapshot = () =>
    this.#call('snapshot', [], () => ({
      seq: this.#seq,
      nowMs: Date.now(),
      cards: this.cards,
      confirmations: this.confirmations,
      dismissed: this.dismissed,
      status: this.status,
      settings: this.settings,
      firstSteps: this.firstSteps,
    }));

  cardPainted = (id: string, generation: number) =>
    this.#call('cardPainted', [id, generation], () => (this.#paint += 1));

  decide: Backend['decide'] = (params) =>
    this.#call('decide', [params], () => {
      const opens = params.remember?.rung === 'workspace';
      const outcome = this.surprise ?? (opens ? ({ kind: 'contained' } as const) : NAMED[params.decision]);
      this.surprise = null;
      const closed = { kind: 'card-closed', id: params.id, outcome } as const;
      // Whoever asked withdraws it once it runs in the box.
      if (!opens) this.emit(closed);
      else if (this.boxes) setTimeout(() => this.emit(closed));
      return outcome;
    });

  dismiss = (id: string) => this.#call('dismiss', [id], () => this.#ofRun(id));

  denyRun = (id: string) =>
    this.#call('denyRun', [id], () => {
      const ids = this.#ofRun(id);
      for (const one of ids) this.emit({ kind: 'card-closed', id: one, outcome: { kind: 'denied' } });
      return ids;
    });

  promptBlank = () => this.#call('promptBlank', [], () => undefined);
  sizePrompt = (width: number, height: number) => this.#call('sizePrompt', [width, height], () => undefined);

  denyAll = () =>
    this.#call('denyAll', [], () => {
      const ids = this.cards.map(({ id }) => id);
      for (const id of ids) this.emit({ kind: 'card-closed', id, outcome: { kind: 'denied' } });
      return ids.length;
    });

  setPaused = (paused: boolean, minutes: number | null) =>
    this.#call('setPaused', [paused, minutes], () => {
      const until = minutes === null ? {} : { untilMs: Date.now() + minutes * 60_000 };
      const standing = paused ? ({ kind: 'paused', ...until } as const) : ({ kind: 'asking' } as const);
      this.emit({ kind: 'status-changed', status: { ...this.status, paused, standing } });
    });

  document = () =>
    this.#call('document', [], () => {
      const view = structuredClone(this.view);
      return { ...view, effective: this.#beside(view.effective) };
    });

  editDocument: Backend['editDocument'] = (params) =>
    this.#call('editDocument', [params], () => {
      if (params.baseHash !== this.view.hash) throw new BackendError('stale', 'the hash differs');
      if (this.loosens.length > 0 && !params.confirmed) {
        const impact = this.impact ? { impact: this.impact } : {};
        return { hash: this.view.hash, applied: false, loosenings: this.loosens, ...impact, undo: [] };
      }
      const undo = params.edits.map((edit) => this.#apply(this.view, edit)).reverse();
      const loosenings = this.loosens;
      this.loosens = [];
      this.#bump();
      this.emit({ kind: 'document-changed', hash: this.view.hash, by: 'window' });
      return { hash: this.view.hash, applied: true, loosenings, undo };
    });

  policies = () => this.#call('policies', [], () => structuredClone(this.farStores));

  policy: Backend['policy'] = (place) =>
    this.#call('policy', [place], () => structuredClone(this.farReads[keyOf(place)] ?? unavailable({ kind: 'gone' })));

  editPolicy: Backend['editPolicy'] = (params) =>
    this.#call('editPolicy', [params], () => {
      const view = this.farReads[keyOf(params.place)]?.document;
      if (!view) throw new BackendError('store', 'it is not connected; nothing was written');
      if (params.baseHash !== view.hash) throw new BackendError('stale', 'the hash differs');
      if (this.loosens.length > 0 && !params.confirmed) {
        return { hash: view.hash, applied: false, loosenings: this.loosens, undo: [] };
      }
      const undo = params.edits.map((edit) => this.#apply(view, edit)).reverse();
      const loosenings = this.loosens;
      this.loosens = [];
      this.#hash += 1;
      view.hash = `hash-${this.#hash}`;
      return { hash: view.hash, applied: true, loosenings, undo };
    });

  previewPolicy: Backend['previewPolicy'] = (params) =>
    this.#call('previewPolicy', [params], () => {
      const view = params.place ? this.farReads[keyOf(params.place)]?.document : this.view;
      if (!view) throw new BackendError('gone', 'this document was not read yet');
      const draft = structuredClone(view);
      for (const edit of params.edits) this.#apply(draft, edit);
      return this.#beside(resolved(draft));
    });

  answerConfirmation = (id: string, apply: boolean) =>
    this.#call('answerConfirmation', [id, apply], () => this.emit({ kind: 'confirmation-closed', id, applied: apply }));

  resetDocument = () =>
    this.#call('resetDocument', [], () => {
      this.view = { ...this.view, state: { kind: 'ready' } };
      this.emit({ kind: 'status-changed', status: { ...this.status, store: { kind: 'ready' } } });
      return `${this.view.path}.bak`;
    });

  breadthOfCard: Backend['breadthOfCard'] = (id) =>
    this.#call('breadthOfCard', [id], () => [
      { rung: 'exact', breadth: { of: 200, matched: 4, denied: 0 } },
      { rung: 'shape', breadth: { of: 200, matched: 12, denied: 0 } },
      { rung: 'subcommand', breadth: { of: 200, matched: 31, denied: 2 } },
      { rung: 'program', breadth: { of: 200, matched: 64, denied: 9 } },
    ]);

  breadthOfRules: Backend['breadthOfRules'] = () =>
    this.#call('breadthOfRules', [], () =>
      this.ruleView.rules.map(({ rule }, index) => ({
        id: rule.id,
        breadth: { of: 200, matched: (index * 23 + 12) % 90, denied: index % 3 },
      })),
    );

  rules = () => this.#call('rules', [], () => structuredClone(this.ruleView));

  editRules: Backend['editRules'] = (params) =>
    this.#call('editRules', [params], () => {
      if (params.baseHash !== this.ruleView.hash) throw new BackendError('stale', 'the hash differs');
      if (this.loosens.length > 0 && !params.confirmed) {
        return { hash: this.ruleView.hash, applied: false, loosenings: this.loosens, undo: [] };
      }
      const undo: RuleEdit[] = params.edits.map((edit) => applyRuleEdit(this.ruleView, edit)).reverse();
      const loosenings = this.loosens;
      this.loosens = [];
      this.#hash += 1;
      this.ruleView = { ...this.ruleView, hash: `hash-${this.#hash}` };
      this.emit({ kind: 'rules-changed', hash: this.ruleView.hash, by: 'window' });
      return { hash: this.ruleView.hash, applied: true, loosenings, undo };
    });

  resetRules = () =>
    this.#call('resetRules', [], () => {
      this.ruleView = { ...this.ruleView, state: { kind: 'ready' }, rules: [] };
      this.emit({ kind: 'rules-changed', hash: this.ruleView.hash });
      return `${this.ruleView.path}.unusable`;
    });

  testCommand: Backend['testCommand'] = (params) => this.#call('testCommand', [params], () => tested(params.command));

  explainTools: Backend['explainTools'] = (query) => this.#call('explainTools', [query], () => explained(query));

  history: Backend['history'] = (before, limit) =>
    this.#call('history', [before, limit], () => {
      const older = this.lines.filter(({ seq }) => before === null || seq < before);
      const entries = older.slice(0, limit);
      const last = entries.at(-1);
      return older.length > limit && last ? { entries, nextBefore: last.seq } : { entries };
    });

  verifyHistory: Backend['verifyHistory'] = () => this.#call('verifyHistory', [], () => ({ lines: this.lines.length }));

  folders: Backend['folders'] = () =>
    this.#call('folders', [], () => {
      const open = new Set(this.ruleView.workspaces.map(({ rule }) => rule.folder));
      const nothing = { runs: 0, reached: [], reachedMore: 0, changes: [], changesMore: 0 };
      const folders = [...open].map((folder) => ({ folder, ...nothing, ...this.doings[folder] }));
      return { folders, registries, ...(this.foldersSince === null ? {} : { sinceMs: this.foldersSince }) };
    });

  folderAtHand: Backend['folderAtHand'] = () => {
    const found = this.atHand;
    const isOpen = this.ruleView.workspaces.some(({ rule }) => rule.folder === found?.folder);
    return this.#call('folderAtHand', [], () => (isOpen ? null : found));
  };

  namedDestination: Backend['namedDestination'] = (text) =>
    this.#call('namedDestination', [text], () => namedDestination(text));

  keptChanges: Backend['keptChanges'] = (params) =>
    this.#call('keptChanges', [params], () => kept.changes(this.#meant(params)));

  keptDiff: Backend['keptDiff'] = (params) =>
    this.#call('keptDiff', [params], () => kept.diff(this.#meant(params), params));

  keptSession: Backend['keptSession'] = (params) =>
    this.#call('keptSession', [params], () => kept.session(this.#session(params.seq)));

  putBack: Backend['putBack'] = (params) =>
    this.#call('putBack', [params], () => {
      const [result, undo] = kept.putBack(this.#meant(params), params);
      const { session } = params;
      const newest = Math.max(...this.lines.map(({ seq }) => seq));
      const at = session?.last ?? params.seq;
      const of = this.lines.find(({ seq }) => seq === at) ?? { seq: at, atMs: Date.now() };
      const runs = session?.runs ?? null;
      if (undo) this.changed(kept.putBackLine(newest + 1, Date.now(), undo, of, runs), undo);
      return result;
    });

  running: Backend['running'] = () => this.#call('running', [], () => this.runs);

  stopRun: Backend['stopRun'] = (id) =>
    this.#call('stopRun', [id], () => {
      this.runs = this.runs.filter(({ requestId }) => requestId !== id);
      this.emit({ kind: 'running-changed' });
    });

  showServer: Backend['showServer'] = (id, port) =>
    this.#call('showServer', [id, port], () => {
      this.#serve(id, port, port);
      return port;
    });

  hideServer: Backend['hideServer'] = (id, port) =>
    this.#call('hideServer', [id, port], () => this.#serve(id, port, undefined));

  #serve(id: string, port: number, shown: number | undefined): void {
    const servers = (run: RunningView) =>
      run.servers?.map((server) => (server.port === port ? { port, shown } : server));
    this.runs = this.runs.map((run) => (run.requestId === id ? { ...run, servers: servers(run) } : run));
    this.emit({ kind: 'running-changed' });
  }

  setSettings = (settings: Settings) =>
    this.#call('setSettings', [settings], () => this.emit({ kind: 'settings-changed', settings }));

  autostart = () => this.#call('autostart', [], () => false);
  setAutostart = (enabled: boolean) => this.#call('setAutostart', [enabled], () => enabled);
  openMain: Backend['openMain'] = (page, card) => this.#call('openMain', [page, card], () => undefined);
  openPrompt = (id: string) => this.#call('openPrompt', [id], () => undefined);

  connections = () => this.#call('connections', [], () => structuredClone(this.gateways));

  saveGateway: Backend['saveGateway'] = (edit) =>
    this.#call('saveGateway', [edit], () => this.#reconnect({ kind: 'save', edit }));

  removeGateway: Backend['removeGateway'] = (id) =>
    this.#call('removeGateway', [id], () => this.#reconnect({ kind: 'remove', id }));

  retryGateway: Backend['retryGateway'] = (id) =>
    this.#call('retryGateway', [id], () => this.#reconnect({ kind: 'retry', id }));

  setEmbedded: Backend['setEmbedded'] = (edit) =>
    this.#call('setEmbedded', [edit], () => this.#reconnect({ kind: 'embedded', edit }));

  answerPairing: Backend['answerPairing'] = (id, approve) =>
    this.#call('answerPairing', [id, approve], () => this.#reconnect({ kind: 'answer', id, approve }));

  removeDevice: Backend['removeDevice'] = (id) =>
    this.#call('removeDevice', [id], () => this.#reconnect({ kind: 'remove-device', id }));

  setForward: Backend['setForward'] = (settings) =>
    this.#call('setForward', [settings], () => this.#forward(setForward(this.gateways.forward, settings)));

  saveForwardTarget: Backend['saveForwardTarget'] = (edit) =>
    this.#call('saveForwardTarget', [edit], () => this.#forward(saveTarget(this.gateways.forward, edit)));

  removeForwardTarget: Backend['removeForwardTarget'] = (id) =>
    this.#call('removeForwardTarget', [id], () => this.#forward(removeTarget(this.gateways.forward, id)));

  sendForwardSample: Backend['sendForwardSample'] = (id) =>
    this.#call('sendForwardSample', [id], () => sampled(this.gateways.forward, id));

  setPetServer: Backend['setPetServer'] = (enabled) =>
    this.#call('setPetServer', [enabled], () => this.#pets(setServer(this.gateways.pets, enabled)));

  disconnectPet: Backend['disconnectPet'] = (sessionId) =>
    this.#call('disconnectPet', [sessionId], () => this.#pets(disconnect(this.gateways.pets, sessionId)));

  forgetPetChoice: Backend['forgetPetChoice'] = (sessionId, id) =>
    this.#call('forgetPetChoice', [sessionId, id], () => this.#pets(forget(this.gateways.pets, sessionId, id)));

  savePetSource: Backend['savePetSource'] = (edit) =>
    this.#call('savePetSource', [edit], () => this.#pets(saveSource(this.gateways.pets, edit)));

  removePetSource: Backend['removePetSource'] = (id) =>
    this.#call('removePetSource', [id], () => this.#pets(removeSource(this.gateways.pets, id)));

  retryPetSource: Backend['retryPetSource'] = (id) =>
    this.#call('retryPetSource', [id], () => this.#pets(retrySource(this.gateways.pets, id)));

  routing: Backend['routing'] = () => this.#call('routing', [], () => structuredClone(this.routes));

  setRoute: Backend['setRoute'] = (edit) =>
    this.#call('setRoute', [edit], () => {
      const { view, result } = routed(this.routes, edit);
      this.routes = view;
      return result;
    });

  revokeSession: Backend['revokeSession'] = (agent, session, confirmed) =>
    this.#call('revokeSession', [agent, session, confirmed], () => {
      const { view, result } = revoked(this.routes, agent, session, confirmed);
      this.routes = view;
      return result;
    });

  agents = () => this.#call('agents', [], () => structuredClone(this.agentsView));

  previewAgent: Backend['previewAgent'] = (params) =>
    this.#call('previewAgent', [params], () => {
      this.#shown = { id: `preview-${(this.#previews += 1)}`, params };
      return this.previews.shift() ?? preview(this.agentsView, params, this.#shown.id);
    });

  writeAgent: Backend['writeAgent'] = (id) =>
    this.#call('writeAgent', [id], () => {
      const looked = this.#shown;
      if (looked?.id !== id) throw new BackendError('stale', 'it has to be looked at again');
      this.#shown = null;
      this.agentsView = written(this.agentsView, looked.params, Date.now());
      return { backups: backups(looked.params), view: structuredClone(this.agentsView) };
    });

  trySample = () => this.#call('trySample', [], () => this.sample);

  endFirstSteps = () =>
    this.#call('endFirstSteps', [], () => {
      this.firstSteps = 'over';
    });

  #forward(forward: ConnectionsView['forward']): ConnectionsView {
    return this.#changed({ forward });
  }

  #pets(pets: ConnectionsView['pets']): ConnectionsView {
    return this.#changed({ pets });
  }

  #changed(part: Partial<ConnectionsView>): ConnectionsView {
    this.gateways = { ...this.gateways, ...part };
    this.emit({ kind: 'connections-changed' });
    return structuredClone(this.gateways);
  }

  #reconnect(change: Parameters<typeof apply>[1]): ConnectionsView {
    this.gateways = apply(this.gateways, change);
    this.emit({ kind: 'connections-changed' });
    return structuredClone(this.gateways);
  }

  async #call<T>(name: keyof Backend, args: unknown[], work: () => T): Promise<T> {
    this.calls.push({ name, args });
    await this.held[name];
    const failure = this.failures[name]?.shift();
    if (failure) throw new BackendError(failure.code, failure.message, failure.mistake);
    return work();
  }

  #folder(seq: number): kept.KeptFolder {
    const folder = this.kept[seq];
    if (!folder) throw new BackendError('invalid', 'the history has no such line about changes');
    return folder;
  }

  #session(seq: number): kept.KeptWhole {
    const whole = this.sessions[seq];
    if (!whole) throw new BackendError('invalid', 'the history has no such line about changes of a session');
    return whole;
  }

  #meant({ seq, session }: KeptParams): kept.KeptFolder {
    if (!session) return this.#folder(seq);
    const whole = this.#session(seq);
    if (JSON.stringify(whole.range) !== JSON.stringify(session)) throw new BackendError('stale', 'less is kept');
    return whole;
  }

  /** What it comes to, with what rules refuse. */
  #beside(effective: EffectiveView[]): EffectiveView[] {
    return effective.map((one) => ({
      ...one,
      meaning: { ...one.meaning, refusals: this.refusals ?? one.meaning.refusals },
    }));
  }

  #bump(): void {
    this.#hash += 1;
    this.view = { ...this.view, hash: `hash-${this.#hash}` };
  }

  /** Applies one edit and returns what takes it back. */
  #ofRun(id: string): string[] {
    const one = this.#cards.get(id);
    return one ? this.cards.filter((other) => isSameRun(one, other)).map((card) => card.id) : [];
  }

  #apply(view: DocumentView, edit: DocumentEdit): DocumentEdit {
    switch (edit.kind) {
      case 'set-policy':
        return this.#setPolicy(view, edit);
      case 'add-entry': {
        const id = `new-${this.#hash}`;
        this.#entries(view, edit.agent).push({
          id,
          kind: 'path',
          pattern: edit.pattern,
          shown: { spans: [{ kind: 'plain', text: edit.pattern }] },
        });
        return { kind: 'delete-entry', agent: edit.agent, entry: id };
      }
      case 'edit-entry': {
        const entry = this.#entries(view, edit.agent).find(({ id }) => id === edit.entry);
        if (!entry) throw new BackendError('invalid', 'no such entry');
        const before = entry.pattern;
        Object.assign(entry, { pattern: edit.pattern, shown: { spans: [{ kind: 'plain', text: edit.pattern }] } });
        return { ...edit, pattern: before };
      }
      case 'delete-entry': {
        const entries = this.#entries(view, edit.agent);
        const index = entries.findIndex(({ id }) => id === edit.entry);
        const [entry] = entries.splice(index, 1);
        return { kind: 'restore-entry', agent: edit.agent, index, json: JSON.stringify(entry) };
      }
      case 'restore-entry': {
        const entry = JSON.parse(edit.json);
        this.#entries(view, edit.agent).splice(edit.index, 0, entry);
        return { kind: 'delete-entry', agent: edit.agent, entry: entry.id };
      }
    }
  }

  #setPolicy(view: DocumentView, edit: Extract<DocumentEdit, { kind: 'set-policy' }>): DocumentEdit {
    const member = {
      security: 'security',
      ask: 'ask',
      'ask-fallback': 'askFallback',
      'auto-allow-skills': 'autoAllowSkills',
    }[edit.field];
    const scope = this.#scope(view, edit.scope) as unknown as Record<string, unknown>;
    const before = scope[member];
    scope[member] = edit.value;
    return before === undefined ? { ...edit, value: undefined } : { ...edit, value: String(before) };
  }

  #scope(view: DocumentView, name: string) {
    const known = view.scopes.find(({ scope }) => scope === name);
    if (known) return known;
    const fresh: ScopeView = { scope: name, shown: shown(name), entries: [] };
    view.scopes.push(fresh);
    return fresh;
  }

  #entries(view: DocumentView, agent: string) {
    return this.#scope(view, agent).entries;
  }
}

const NAMED = {
  'allow-once': { kind: 'allowed-once' },
  'allow-always': { kind: 'allowed-always' },
  deny: { kind: 'denied' },
} as const satisfies Record<string, Outcome>;
