export { BackendError, type Backend } from './backend';
