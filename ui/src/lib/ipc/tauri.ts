import { invoke as tauriInvoke, type InvokeArgs } from '@tauri-apps/api/core';
import { listen } from '@tauri-apps/api/event';
import type { UiMessage } from '../protocol';
import { BackendError, type Backend } from './backend';

/**
 * The one channel on which a window hears of anything. Each has its own: Tauri wakes every page that
 * listens to an event.
 */
const CHANNELS = { main: 'countersign-main', prompt: 'countersign-prompt' } as const;

async function invoke<T>(name: string, args?: InvokeArgs): Promise<T> {
  try {
    return await tauriInvoke<T>(name, args);
  } catch (error) {
    throw BackendError.from(error);
  }
}

/** The app behind Tauri's IPC: one line for each command. */
export const tauriBackend = (window: keyof typeof CHANNELS): Backend => ({
  follow: (receive) => listen<UiMessage>(CHANNELS[window], (event) => receive(event.payload)),
  snapshot: () => invoke('snapshot'),
  cardPainted: (id, generation) => invoke('card_painted', { id, generation }),
  decide: (params) => invoke('decide', { params }),
  dismiss: (id) => invoke('dismiss', { id }),
  promptBlank: () => invoke('prompt_blank'),
  sizePrompt: (width, height) => invoke('size_prompt', { width, height }),
  denyAll: () => invoke('deny_all'),
  denyRun: (id) => invoke('deny_run', { id }),
  setPaused: (paused, minutes) => invoke('set_paused', { paused, minutes }),
  document: () => invoke('document'),
  editDocument: (params) => invoke('edit_document', { params }),
  answerConfirmation: (id, apply) => invoke('answer_confirmation', { id, apply }),
  resetDocument: () => invoke('reset_document'),
  breadthOfCard: (id) => invoke('breadth_of_card', { id }),
  rules: () => invoke('rules'),
  breadthOfRules: () => invoke('breadth_of_rules'),
  editRules: (params) => invoke('edit_rules', { params }),
  resetRules: () => invoke('reset_rules'),
  testCommand: (params) => invoke('test_command', { params }),
  explainTools: (query) => invoke('explain_tools', { query }),
  history: (before, limit) => invoke('history', { before, limit }),
  verifyHistory: () => invoke('verify_history'),
  folders: () => invoke('folders'),
  folderAtHand: () => invoke('folder_at_hand'),
  namedDestination: (text) => invoke('named_destination', { text }),
  keptChanges: (params) => invoke('kept_changes', { params }),
  keptDiff: (params) => invoke('kept_diff', { params }),
  keptSession: (params) => invoke('kept_session', { params }),
  putBack: (params) => invoke('put_back', { params }),
  running: () => invoke('running'),
  stopRun: (id) => invoke('stop_run', { id }),
  showServer: (id, port) => invoke('show_server', { id, port }),
  hideServer: (id, port) => invoke('hide_server', { id, port }),
  setSettings: (settings) => invoke('set_settings', { settings }),
  autostart: () => invoke('autostart'),
  setAutostart: (enabled) => invoke('set_autostart', { enabled }),
  openMain: (page, card) => invoke('open_main', { page, card }),
  openPrompt: (id) => invoke('open_prompt', { id }),
  connections: () => invoke('connections'),
  saveGateway: (edit) => invoke('save_gateway', { edit }),
  removeGateway: (id) => invoke('remove_gateway', { id }),
  retryGateway: (id) => invoke('retry_gateway', { id }),
  setEmbedded: (edit) => invoke('set_embedded', { edit }),
  answerPairing: (requestId, approve) => invoke('answer_pairing', { requestId, approve }),
  removeDevice: (id) => invoke('remove_device', { id }),
  policies: () => invoke('policies'),
  policy: (place) => invoke('policy', { place }),
  editPolicy: (params) => invoke('edit_policy', { params }),
  previewPolicy: (params) => invoke('preview_policy', { params }),
  setForward: (settings) => invoke('set_forward', { settings }),
  saveForwardTarget: (edit) => invoke('save_forward_target', { edit }),
  removeForwardTarget: (id) => invoke('remove_forward_target', { id }),
  sendForwardSample: (id) => invoke('send_forward_sample', { id }),
  setPetServer: (enabled) => invoke('set_pet_server', { enabled }),
  disconnectPet: (sessionId) => invoke('disconnect_pet', { sessionId }),
  forgetPetChoice: (sessionId, id) => invoke('forget_pet_choice', { sessionId, id }),
  savePetSource: (edit) => invoke('save_pet_source', { edit }),
  removePetSource: (id) => invoke('remove_pet_source', { id }),
  retryPetSource: (id) => invoke('retry_pet_source', { id }),
  routing: () => invoke('routing'),
  setRoute: (edit) => invoke('set_route', { edit }),
  revokeSession: (agent, session, confirmed) => invoke('revoke_session', { agent, session, confirmed }),
  agents: () => invoke('agents'),
  previewAgent: (params) => invoke('preview_agent', { params }),
  writeAgent: (id) => invoke('write_agent', { id }),
  trySample: () => invoke('try_sample'),
  endFirstSteps: () => invoke('end_first_steps'),
});
