import type { Language } from '../protocol';
import { en, type Catalogue } from './en';
import { ko } from './ko';
import { zh } from './zh';

export type { Catalogue };

/** A language that has a catalogue. */
export type Locale = Exclude<Language, 'system'>;

export const CATALOGUES: Record<Locale, Catalogue> = { en, zh, ko };

/** Names of the languages in themselves. */
export const LANGUAGE_NAMES: Record<Locale, string> = { en: 'English', zh: '简体中文', ko: '한국어' };

let locale = $state<Locale>('en');

/** The catalogue of the present language; reading it in a component follows the language. */
export function t(): Catalogue {
  return CATALOGUES[locale];
}

/** The present language, also good as a BCP 47 tag for `Intl`. */
export function currentLocale(): Locale {
  return locale;
}

export function setLocale(next: Locale): void {
  locale = next;
}

/** The language to use for a setting, with the desktop's languages in order of preference. */
export function localeFor(language: Language, preferred: readonly string[]): Locale {
  if (language !== 'system') return language;
  for (const tag of preferred) {
    const base = tag.toLowerCase().split('-')[0];
    if (base === 'en' || base === 'zh' || base === 'ko') return base;
  }
  return 'en';
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Hours from which days are easier to grasp. */
const MANY_HOURS = 48;

/** A duration in words, with at most two units; parts of a second count as a whole one. */
export function duration(ms: number): string {
  const { unit } = t();
  const whole = Math.ceil(Math.max(0, ms) / SECOND) * SECOND;
  if (whole >= MANY_HOURS * HOUR) {
    const hours = Math.floor((whole % DAY) / HOUR);
    const days = unit.days(Math.floor(whole / DAY));
    return unit.join(hours > 0 ? [days, unit.hours(hours)] : [days]);
  }
  const hours = Math.floor(whole / HOUR);
  const minutes = Math.floor((whole % HOUR) / MINUTE);
  const seconds = Math.floor((whole % MINUTE) / SECOND);
  if (hours > 0) return unit.join(minutes > 0 ? [unit.hours(hours), unit.minutes(minutes)] : [unit.hours(hours)]);
  if (minutes > 0)
    return unit.join(seconds > 0 ? [unit.minutes(minutes), unit.seconds(seconds)] : [unit.minutes(minutes)]);
  return unit.seconds(seconds);
}

/** The reader's own variant of the present language, if the desktop names one. */
function regional(): string {
  return navigator.languages.find((tag) => tag.toLowerCase().split('-')[0] === locale) ?? locale;
}

/** Steps of a thousand from one unit of data to the next. */
const DATA_UNITS = ['B', 'kB', 'MB', 'GB', 'TB'];

/** From here on a number of one unit would be rounded to a thousand of it. */
const NEXT_UNIT = 999.95;

/** An amount of data with at most one digit behind the point. */
export function amount(bytes: number): string {
  let value = Math.max(0, bytes);
  let unit = 0;
  while (value >= NEXT_UNIT && unit < DATA_UNITS.length - 1) {
    value /= 1_000;
    unit += 1;
  }
  return `${new Intl.NumberFormat(locale, { maximumFractionDigits: 1 }).format(value)} ${DATA_UNITS[unit]}`;
}

/** Date and time in the reader's language and zone. */
export function dateTime(ms: number): string {
  return new Intl.DateTimeFormat(regional(), { dateStyle: 'medium', timeStyle: 'medium' }).format(ms);
}

/** Sentences one after the other. */
export function sentences(said: string[]): string {
  return said.join(locale === 'zh' ? '' : ' ');
}

/** The time of day in the reader's language and zone. */
export function clockTime(ms: number): string {
  return new Intl.DateTimeFormat(regional(), { timeStyle: 'short' }).format(ms);
}

/** How long ago, in words of one unit. */
export function ago(ms: number, now: number): string {
  const format = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' });
  const past = Math.max(0, now - ms);
  if (past < MINUTE) return format.format(-Math.floor(past / SECOND), 'second');
  if (past < HOUR) return format.format(-Math.floor(past / MINUTE), 'minute');
  if (past < 24 * HOUR) return format.format(-Math.floor(past / HOUR), 'hour');
  return format.format(-Math.floor(past / (24 * HOUR)), 'day');
}
