// What a person reads in the panel, by key. English is built in.

const ENGLISH = {
  heading: 'Assistant',
  placeholder: 'Write a message',
  conversation: 'Conversation',
  emptyTitle: 'How can I help?',
  emptyHint: 'Ask a question to start the conversation.',
  jump: 'New messages',
  send: 'Send',
  stop: 'Stop',
  // The line over the text box.
  closed: 'Messages cannot be written here now.',
  tooLong: 'This message is too long: shorten it to {limit} characters.',
  editing: 'You are editing a message.',
  cancel: 'Cancel',
  // What screen readers hear in place of code, and after the beginning of a long answer.
  code: 'Code.',
  more: 'The answer goes on in the conversation.',
  // What the agent is doing.
  starting: 'Connecting\u2026',
  idle: 'Online',
  waiting: 'Working\u2026',
  thinking: 'Thinking\u2026',
  answering: 'Answering\u2026',
  asking: 'Waiting for you\u2026',
  stopping: 'Stopping\u2026',
  lost: 'Not connected',
  // Messages.
  you: 'You',
  assistant: 'Assistant',
  stopped: 'Stopped',
  interrupted: 'Interrupted',
  error: 'Incomplete',
  ownError: 'Not answered',
  sources: 'Sources',
  newTab: 'opens in a new tab',
  // Tool calls, as screen readers hear them before their words.
  toolAsking: 'Waiting for you',
  toolRunning: 'Running',
  toolDone: 'Done',
  toolFailed: 'Failed',
  toolStopped: 'Stopped',
  // Widgets.
  showTable: 'Show as table',
  showChart: 'Show as chart',
  label: 'Label',
  yes: 'Yes',
  no: 'No',
  choose: 'Please choose',
  chooseOne: 'Please choose at least one.',
  chosen: 'You chose: {choice}',
  sent: 'Sent',
  widgetBusy: 'Wait for the answer, then try again.',
  imageFrom: 'Image from {host}',
  stepActive: 'In progress',
  stepWaiting: 'To do',
  // Questions and notices.
  details: 'Details',
  deny: 'Deny',
  allowOnce: 'Allow',
  retry: 'Retry',
  reconnect: 'Reconnect',
  continue: 'Continue',
};

/** `text(key, values)`: the words of a key, with `{name}` replaced by the value of that name. */
export function texts() {
  return (key, values = {}) => ENGLISH[key].replace(/\{(\w+)\}/g, (_, name) => values[name] ?? '');
}
