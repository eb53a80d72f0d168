import type {
  AgentPreview,
  AgentPreviewParams,
  AgentsView,
  AgentWritten,
  ChainReport,
  CommandError,
  ConnectionsView,
  DecideParams,
  DocumentView,
  EditParams,
  EditResult,
  EffectiveView,
  EmbeddedEdit,
  ErrorCode,
  FolderAtHand,
  FoldersView,
  ForwardSettings,
  ForwardTargetEdit,
  GatewayEdit,
  HistoryPage,
  KeptChanges,
  KeptDiff,
  KeptParams,
  KeptSession,
  Mistake,
  NamedDestination,
  Outcome,
  Page,
  PetSourceEdit,
  PolicyEditParams,
  PolicyPlace,
  PolicyPreviewParams,
  PolicyRead,
  PolicyStores,
  PutBackResult,
  RouteEdit,
  RouteResult,
  RoutingView,
  RuleBreadth,
  RuleEditParams,
  RuleEditResult,
  RulesView,
  RungBreadth,
  RunningView,
  SampleResult,
  SampleRun,
  Settings,
  Snapshot,
  TestParams,
  TestResult,
  ToolsExplained,
  ToolsQuery,
  UiMessage,
} from '../protocol';

/** What the windows may ask of the app. Every method rejects with a {@link BackendError} and with nothing else. */
export interface Backend {
  /** Calls `receive` for every message from now on, until the returned function is called. */
  follow(receive: (message: UiMessage) => void): Promise<() => void>;
  snapshot(): Promise<Snapshot>;
  /** Says that the card's content is on the screen; the number returned goes into the decision. */
  cardPainted(id: string, generation: number): Promise<number>;
  decide(params: DecideParams): Promise<Outcome>;
  /**
   * The card stays in the inbox, unanswered, with everything else that its run asks now; returns the ids of all that.
   */
  dismiss(id: string): Promise<string[]>;
  /** Denies everything that the card's run asks now; returns the ids of what that was. */
  denyRun(id: string): Promise<string[]>;
  /** Says that the prompt page shows nothing, so that its window may be hidden. */
  promptBlank(): Promise<void>;
  /** Asks for a size of the prompt's window, in CSS pixels; it becomes as large as its screen allows. */
  sizePrompt(width: number, height: number): Promise<void>;
  /** Denies everything that waits; returns how many that were. */
  denyAll(): Promise<number>;
  /** Pauses prompts, for so many minutes or until somebody resumes (`null`), or resumes them. */
  setPaused(paused: boolean, minutes: number | null): Promise<void>;
  document(): Promise<DocumentView>;
  editDocument(params: EditParams): Promise<EditResult>;
  answerConfirmation(id: string, apply: boolean): Promise<void>;
  /** Moves an unusable document aside and starts a new one; returns the path of the old one. */
  resetDocument(): Promise<string>;
  /** What each rung on a card would have let run among past requests. */
  breadthOfCard(id: string): Promise<RungBreadth[]>;
  rules(): Promise<RulesView>;
  /** How many past requests each stored rule is about. */
  breadthOfRules(): Promise<RuleBreadth[]>;
  editRules(params: RuleEditParams): Promise<RuleEditResult>;
  /** Moves unusable rules aside and starts without any; returns the path of the old ones. */
  resetRules(): Promise<string>;
  testCommand(params: TestParams): Promise<TestResult>;
  /** Which tools a caller gets, and which step of the tool policy takes the others. */
  explainTools(query: ToolsQuery): Promise<ToolsExplained>;
  /** History newest first; `before` is exclusive, `null` means from the newest. */
  history(before: number | null, limit: number): Promise<HistoryPage>;
  verifyHistory(): Promise<ChainReport>;
  /** What the history says about open folders, by its newest lines. */
  folders(): Promise<FoldersView>;
  /** The folder in which a connected agent asked last, where it can be opened and is not. */
  folderAtHand(): Promise<FolderAtHand | null>;
  /** What a person's `HOST:PORT` means; nothing is stored. */
  namedDestination(text: string): Promise<NamedDestination>;
  /** What changed by a line of the history, the first thousand of it. */
  keptChanges(params: KeptParams): Promise<KeptChanges>;
  /** What differs by one of these changes. */
  keptDiff(params: KeptParams): Promise<KeptDiff>;
  /** What the session of a line's run changed in that folder, in all its runs that are kept. */
  keptSession(params: KeptParams): Promise<KeptSession>;
  /**
   * Puts one change back, or all of them; what was changed since stays as it is. It becomes a line that can
   * be put back too.
   */
  putBack(params: KeptParams): Promise<PutBackResult>;
  /** What runs now, with the end of what it printed so far. */
  running(): Promise<RunningView[]>;
  /** Ends a run. */
  stopRun(id: string): Promise<void>;
  /** Has a server in the box of a run be reached on this machine. Its port here comes back. */
  showServer(id: string, port: number): Promise<number>;
  hideServer(id: string, port: number): Promise<void>;
  setSettings(settings: Settings): Promise<void>;
  autostart(): Promise<boolean>;
  setAutostart(enabled: boolean): Promise<boolean>;
  openMain(page: Page, card: string | null): Promise<void>;
  openPrompt(id: string): Promise<void>;
  connections(): Promise<ConnectionsView>;
  /** Adds a gateway or changes one. This and the next five return what there is afterwards. */
  saveGateway(edit: GatewayEdit): Promise<ConnectionsView>;
  removeGateway(id: string): Promise<ConnectionsView>;
  /** Connects now instead of waiting for the next time. */
  retryGateway(id: string): Promise<ConnectionsView>;
  /** Switches the app's own gateway or changes its port. */
  setEmbedded(edit: EmbeddedEdit): Promise<ConnectionsView>;
  /** Lets a device in or refuses it. */
  answerPairing(requestId: string, approve: boolean): Promise<ConnectionsView>;
  /** A device that was let in has to ask again. */
  removeDevice(id: string): Promise<ConnectionsView>;
  /** Documents of other gateways and of their nodes; asks each connected gateway. */
  policies(): Promise<PolicyStores>;
  /** What one of them says now. */
  policy(place: PolicyPlace): Promise<PolicyRead>;
  editPolicy(params: PolicyEditParams): Promise<EditResult>;
  /** What would be in force with edits; nothing is written. */
  previewPolicy(params: PolicyPreviewParams): Promise<EffectiveView[]>;
  /** Says what is handed on at all. This and the next two return what there is afterwards. */
  setForward(settings: ForwardSettings): Promise<ConnectionsView>;
  /** Adds a target or changes one. */
  saveForwardTarget(edit: ForwardTargetEdit): Promise<ConnectionsView>;
  removeForwardTarget(id: string): Promise<ConnectionsView>;
  /** Sends a sample to a target and says what came of it. */
  sendForwardSample(id: string): Promise<SampleResult>;
  /** Lets companion clients in or not. This and the next five return what there is afterwards. */
  setPetServer(enabled: boolean): Promise<ConnectionsView>;
  /** Ends the connection of a companion client; what waits for it is denied. */
  disconnectPet(sessionId: string): Promise<ConnectionsView>;
  /** Takes back a choice that a companion client made for exactly the same call. */
  forgetPetChoice(sessionId: string, id: string): Promise<ConnectionsView>;
  /** Adds another program's pet server or changes one. */
  savePetSource(edit: PetSourceEdit): Promise<ConnectionsView>;
  removePetSource(id: string): Promise<ConnectionsView>;
  /** Connects now instead of waiting for the next time. */
  retryPetSource(id: string): Promise<ConnectionsView>;
  /** Where commands run, per agent, and which sessions have settings of their own. */
  routing(): Promise<RoutingView>;
  /** What loosens comes back unapplied until it is confirmed; so does the next one. */
  setRoute(edit: RouteEdit): Promise<RouteResult>;
  /** Forgets what was said for a session. */
  revokeSession(agent: string, session: string, confirmed: boolean): Promise<RouteResult>;
  /** The agents of this machine, and how each asks. */
  agents(): Promise<AgentsView>;
  /** What a change of an agent's settings comes to; nothing is written. */
  previewAgent(params: AgentPreviewParams): Promise<AgentPreview>;
  /** Writes exactly what was shown under this id; `stale` when that is not possible any more. */
  writeAgent(id: string): Promise<AgentWritten>;
  /** Asks for a harmless command as any program can; resolves when that has ended. */
  trySample(): Promise<SampleRun>;
  /** The first steps do not come by themselves again. */
  endFirstSteps(): Promise<void>;
}

const CODES: readonly string[] = ['gone', 'not-armed', 'stale', 'store', 'invalid', 'internal'] satisfies ErrorCode[];

/** A refusal or failure of the app, with a code to branch on. */
export class BackendError extends Error {
  override readonly name = 'BackendError';

  constructor(
    readonly code: ErrorCode,
    message: string,
    /** What the person typed wrong, where that is known. */
    readonly mistake: Mistake | null = null,
  ) {
    super(message);
  }

  /** Whatever was thrown, as one of these; anything unknown is `internal`. */
  static from(thrown: unknown): BackendError {
    if (thrown instanceof BackendError) return thrown;
    if (isCommandError(thrown)) return new BackendError(thrown.code, thrown.message, thrown.mistake ?? null);
    return new BackendError('internal', thrown instanceof Error ? thrown.message : String(thrown));
  }
}

function isCommandError(value: unknown): value is CommandError {
  if (typeof value !== 'object' || value === null) return false;
  const { code, message, mistake } = value as Partial<Record<keyof CommandError, unknown>>;
  const isKnown = mistake === undefined || (typeof mistake === 'object' && mistake !== null);
  return typeof code === 'string' && CODES.includes(code) && typeof message === 'string' && isKnown;
}
