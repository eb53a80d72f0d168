//! Arguments against a profile.

use super::Refusal;
use super::profiles::Profile;

/// Whether all arguments (without the executable) are harmless.
pub(super) fn check(profile: &Profile, args: &[String]) -> Result<(), Refusal> {
    let mut operands = 0;
    let mut args = args.iter().map(String::as_str);
    while let Some(argument) = args.next() {
        if argument == "--" {
            for operand in args.by_ref() {
                operands += count_operand(operand)?;
            }
        } else if argument.starts_with("--") {
            long_option(profile, argument, &mut args)?;
        } else if let Some(letters) = argument.strip_prefix('-').filter(|letters| !letters.is_empty()) {
            short_options(profile, letters, &mut args)?;
        } else {
            operands += count_operand(argument)?;
        }
    }
    match profile.most {
        _ if operands < profile.least => {
            Err(Refusal::TooFewOperands { found: operands, least: profile.least })
        }
        Some(most) if operands > most => Err(Refusal::TooManyOperands { found: operands, most }),
        Some(_) | None => Ok(()),
    }
}

/// Standard input, as nothing or as `-`, is no operand.
fn count_operand(operand: &str) -> Result<usize, Refusal> {
    if operand.is_empty() || operand == "-" {
        return Ok(0);
    }
    literal(operand).map(|()| 1)
}

fn long_option<'a>(
    profile: &Profile,
    argument: &str,
    rest: &mut impl Iterator<Item = &'a str>,
) -> Result<(), Refusal> {
    let (typed, value) = match argument.split_once('=') {
        Some((typed, value)) => (typed, Some(value)),
        None => (argument, None),
    };
    let Some(flag) = profile.long_flag(typed) else { return Err(Refusal::UnknownFlag(typed.to_owned())) };
    if profile.denied_flags.contains(flag) {
        return Err(Refusal::DeniedFlag(flag.to_owned()));
    }
    if profile.glued_flags.contains(flag) {
        return literal(value.ok_or_else(|| Refusal::MissingValue(flag.to_owned()))?);
    }
    match (profile.value_flags.contains(flag), value) {
        (true, Some(value)) => literal(value),
        (true, None) => next_value(flag, rest),
        (false, Some(_)) => Err(Refusal::UnwantedValue(flag.to_owned())),
        (false, None) => Ok(()),
    }
}

fn short_options<'a>(
    profile: &Profile,
    letters: &str,
    rest: &mut impl Iterator<Item = &'a str>,
) -> Result<(), Refusal> {
    for (at, letter) in letters.char_indices() {
        let flag = format!("-{letter}");
        if profile.denied_flags.contains(&flag) {
            return Err(Refusal::DeniedFlag(flag));
        }
        if profile.value_flags.contains(&flag) {
            return match letters.get(at + letter.len_utf8()..) {
                Some(glued) if !glued.is_empty() => literal(glued),
                _ => next_value(&flag, rest),
            };
        }
        if !profile.plain_flags.contains(&flag) {
            return Err(Refusal::UnknownFlag(flag));
        }
    }
    Ok(())
}

fn next_value<'a>(flag: &str, rest: &mut impl Iterator<Item = &'a str>) -> Result<(), Refusal> {
    match rest.next() {
        Some(value) if !value.is_empty() => literal(value),
        _ => Err(Refusal::MissingValue(flag.to_owned())),
    }
}

/// Whether an argument says nothing but itself, and names no file.
fn literal(argument: &str) -> Result<(), Refusal> {
    if argument.contains(['*', '?', '[', ']', '`']) || has_dollar_expansion(argument) {
        return Err(Refusal::Expansion(argument.to_owned()));
    }
    if is_path_like(argument.trim()) {
        return Err(Refusal::PathLike(argument.to_owned()));
    }
    Ok(())
}

/// A dollar sign with anything after it that a shell would read: a name, a brace, a special
/// parameter or a quote.
fn has_dollar_expansion(argument: &str) -> bool {
    let begins = |c: char| c.is_alphanumeric() || "_{([@*#?$!-'\"".contains(c);
    argument.split('$').skip(1).any(|after| after.starts_with(begins)) || argument.contains("$$")
}

/// `.` and a leading backslash are no paths to the peer either: `tr '\n' ' '`.
fn is_path_like(argument: &str) -> bool {
    let is_drive =
        |bytes: &[u8]| matches!(bytes, [letter, b':', b'/' | b'\\', ..] if letter.is_ascii_alphabetic());
    ["/", "~", "./", "../"].iter().any(|start| argument.starts_with(start)) || is_drive(argument.as_bytes())
}
