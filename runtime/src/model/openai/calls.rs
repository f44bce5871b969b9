//! The calls of one answer, told apart although gateways number and name them wrongly.

use mindset_core::json::{Value, parse};
use mindset_core::turn::ModelEvent;

/// The calls so far, in the order they began.
#[derive(Debug, Default)]
pub(super) struct Calls {
    calls: Vec<Call>,
    /// Those that were told, in that order.
    told: Vec<usize>,
}

/// A call that is arriving.
#[derive(Debug, Default)]
struct Call {
    id: Option<String>,
    index: Option<u64>,
    name: String,
    arguments: String,
    /// How much of the arguments was told; nothing is before the name is known.
    told: usize,
    started: bool,
    /// What the provider wants back with the call.
    extra: Option<Value>,
}

/// What a delta says of a call.
struct Piece {
    id: String,
    index: Option<u64>,
    name: String,
    arguments: String,
}

impl Calls {
    /// Takes an entry of `tool_calls`, or a `function_call` of the older protocol.
    pub(super) fn take(&mut self, delta: &Value, out: &mut Vec<ModelEvent>) {
        let function = delta.get("function").unwrap_or(delta);
        let text = |of: &Value, key| of.str(key).unwrap_or("").to_owned();
        let arguments = match function.get("arguments") {
            Some(Value::String(text)) => text.clone(),
            None | Some(Value::Null) => String::new(),
            Some(value) => value.text(),
        };
        let index = delta.get("index").and_then(Value::as_u64);
        let piece = Piece { id: text(delta, "id"), index, name: text(function, "name"), arguments };
        let at = self.place(&piece).unwrap_or_else(|| {
            self.calls.push(Call { index, ..Call::default() });
            self.calls.len() - 1
        });
        let Some(call) = self.calls.get_mut(at) else { return };
        if call.id.is_none() && !piece.id.is_empty() {
            call.id = Some(piece.id);
        }
        if call.name.is_empty() {
            call.name = piece.name;
        }
        call.arguments.push_str(&piece.arguments);
        if let Some(extra) = delta.get("extra_content").filter(|extra| !extra.is_null()) {
            call.extra = Some(extra.clone());
        }
        if !call.name.is_empty() {
            self.flow(at, out);
        }
    }

    /// The call that a piece goes on with; `None` opens a new one.
    fn place(&self, piece: &Piece) -> Option<usize> {
        let find = |is: &dyn Fn(&Call) -> bool| self.calls.iter().rposition(is);
        let by_index = piece.index.and_then(|index| find(&|c| c.index == Some(index)));
        let known = |c: &Call| !piece.id.is_empty() && c.id.as_ref() == Some(&piece.id);
        let by_id = find(&|c| known(c) && c.index == piece.index).or_else(|| find(&known));
        let latest = self.calls.len().checked_sub(1);
        let at = match (by_id, by_index) {
            (Some(at), _) => at,
            // An id that comes late, or another with every piece.
            (None, at) if !piece.id.is_empty() => {
                let at = at.or(if piece.index.is_none() { latest } else { None })?;
                let call = self.calls.get(at)?;
                let goes_on = piece.name.is_empty() || call.id.is_none() && call.name == piece.name;
                return (goes_on && !call.is_whole()).then_some(at);
            }
            (None, Some(at)) => at,
            // A nameless piece goes to the latest, and so does one that repeats the name.
            (None, None) => {
                let call = self.calls.get(latest?)?;
                let repeats = piece.index.is_none() && call.name == piece.name && !call.is_whole();
                return if piece.name.is_empty() || repeats { latest } else { None };
            }
        };
        let call = self.calls.get(at)?;
        (!piece.begins_another(call)).then_some(at)
    }

    /// The answer is whole. With `cut` the provider stopped it at its limit.
    pub(super) fn end(&mut self, cut: bool, out: &mut Vec<ModelEvent>) {
        for at in 0..self.calls.len() {
            self.flow(at, out);
        }
        let Some(&at) = self.told.last().filter(|_| cut) else { return };
        if self.calls.get(at).is_some_and(|call| call.arguments.trim().is_empty()) {
            // No arguments mean `{}`. Here they were still to come: half an object makes
            // the turn tell the model so, instead of running the tool with nothing.
            out.push(ModelEvent::CallArguments { key: key(at), delta: "{".to_owned() });
        }
    }

    /// What the provider wants back with each call, in the order of the calls; empty if
    /// with none.
    pub(super) fn extras(&self) -> Vec<Value> {
        if self.calls.iter().all(|call| call.extra.is_none()) {
            return Vec::new();
        }
        let extra = |at: &usize| self.calls.get(*at).and_then(|call| call.extra.clone()).unwrap_or_default();
        self.told.iter().map(extra).collect()
    }

    /// Tells the start of a call once, then what is untold of its arguments.
    fn flow(&mut self, at: usize, out: &mut Vec<ModelEvent>) {
        let Some(call) = self.calls.get_mut(at) else { return };
        if !call.started {
            call.started = true;
            self.told.push(at);
            out.push(ModelEvent::CallStart { key: key(at), id: call.id.clone(), name: call.name.clone() });
        }
        let rest = call.arguments.get(call.told..).unwrap_or("");
        if !rest.is_empty() {
            out.push(ModelEvent::CallArguments { key: key(at), delta: rest.to_owned() });
            call.told = call.arguments.len();
        }
    }
}

fn key(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

impl Call {
    /// Whether nothing can follow: its arguments are an object.
    fn is_whole(&self) -> bool {
        self.arguments.trim_end().ends_with('}') && parse(&self.arguments).is_ok_and(|v| v.is_object())
    }
}

impl Piece {
    /// Whether it is another call of the same id or index: with a name and an object of
    /// its own, behind a whole one.
    fn begins_another(&self, call: &Call) -> bool {
        if self.name.is_empty() || call.name.is_empty() {
            return false;
        }
        let other = self.name != call.name;
        (other || self.arguments.trim_start().starts_with('{'))
            && (call.is_whole() || other && self.id.is_empty())
    }
}
