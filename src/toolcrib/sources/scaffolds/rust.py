"""A new tool in Rust."""

TEMPLATE = r"""// @NAME@: a tool, started with one --name=value word for each argument. What it prints is its answer.
// After a change, build it again: rustc -O --edition 2021 --crate-name tool -o @NAME@ @NAME@.rs

use std::collections::HashMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fmt};

// The arguments: name, type, and whether it must be there. The same stands in tool.yaml, for the model and the gate.
const PARAMETERS: &[(&str, &str, bool)] = &[
@PARAMETERS@];

enum Value {
    Text(String),
    Number(f64),
    Boolean(bool),
}

impl fmt::Display for Value {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Value::Text(text) => write!(out, "{text}"),
            Value::Number(number) => write!(out, "{number}"),
            Value::Boolean(boolean) => write!(out, "{boolean}"),
        }
    }
}

// The answer as text; or an error, with words for the model, for what cannot be done.
#[allow(unused_variables)]
fn answer(arguments: &HashMap<String, Value>, workspace: &Path) -> Result<String, String> {
    // TODO: do the work here. Paths are meant from the workspace, which is the working directory too.
    let mut lines = vec!["@NAME@ works.".to_string()];
    for (name, _, _) in PARAMETERS {
        if let Some(value) = arguments.get(*name) {
            lines.push(format!("{name}: {value}"));
        }
    }
    Ok(lines.join("\n"))
}

fn write_output(text: &str) -> Result<(), String> {
    writeln!(io::stdout(), "{text}").map_err(|error| error.to_string())
}

fn read_arguments() -> Result<HashMap<String, Value>, String> {
    let mut arguments = HashMap::new();
    for word in env::args_os().skip(1) {
        let word = word.into_string().map_err(|word| format!("{word:?} is not UTF-8"))?;
        let unknown = || format!("{:?} is no argument of this tool", word.chars().take(80).collect::<String>());
        let (name, text) = word.strip_prefix("--").and_then(|rest| rest.split_once('=')).ok_or_else(unknown)?;
        let known = PARAMETERS.iter().find(|each| each.0 == name).ok_or_else(unknown)?;
        arguments.insert(name.to_string(), read_value(name, known.1, text)?);
    }
    match PARAMETERS.iter().find(|each| each.2 && !arguments.contains_key(each.0)) {
        Some(missing) => Err(format!("--{}=... is missing", missing.0)),
        None => Ok(arguments),
    }
}

fn read_value(name: &str, kind: &str, text: &str) -> Result<Value, String> {
    let number = || text.parse().ok().filter(|number: &f64| number.is_finite());
    let value = match kind {
        "string" => Some(Value::Text(text.to_string())),
        "boolean" => text.parse().ok().map(Value::Boolean),
        _ => number().map(Value::Number),
    };
    value.ok_or_else(|| format!("--{name}={:?} is not a {kind}", text.chars().take(80).collect::<String>()))
}

fn main() -> ExitCode {
    let arguments = match read_arguments() {
        Ok(arguments) => arguments,
        Err(error) => return fail(2, &error),
    };
    let named = env::var_os("TOOLCRIB_WORKSPACE").or_else(|| env::var_os("FORGE_WORKSPACE"));
    let workspace = PathBuf::from(named.unwrap_or_else(|| ".".into()));
    match answer(&arguments, &workspace).and_then(|text| write_output(&text)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(1, &error),
    }
}

fn fail(status: u8, error: &str) -> ExitCode {
    eprintln!("@NAME@: {error}");
    ExitCode::from(status)
}
"""
