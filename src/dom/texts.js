// What a person reads in the panel, by key. English is built in.

export const ENGLISH = {
  heading: 'Assistant',
  placeholder: 'Write a message',
  conversation: 'Conversation',
  conversations: 'Conversations',
  close: 'Close',
  unread: 'New messages: {count}',
  // The drawer of conversations.
  newConversation: 'New conversation',
  loading: 'Loading\u2026',
  noConversations: 'No conversations yet.',
  untitled: 'Untitled',
  title: 'Title',
  rename: 'Rename {title}',
  delete: 'Delete {title}',
  deleteSure: 'Delete \u201c{title}\u201d for good?',
  deleteNow: 'Delete',
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
  // Messages that wait for their turn.
  queued: 'Waiting messages',
  queuedNext: 'Waits for the answer',
  queuedReads: 'Will be read now',
  queuedSending: 'Sending\u2026',
  queuedPaused: 'Paused',
  queueSaid: 'Your message is sent when the assistant is done.',
  queueHeld: 'Waiting messages are paused.',
  queueSend: 'Send when the assistant is done',
  resume: 'Resume',
  sendNow: 'Send now',
  remove: 'Remove',
  keep: 'Save',
  // What an application may do.
  settings: 'Settings',
  appRuns: 'This application may give the assistant work',
  appReads: 'This application may read your conversations',
  appRunsOff: 'If you switch this off, work it has started stops at once.',
  notChanged: 'This could not be changed. Try again.',
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
  // Inside of answers.
  copy: 'Copy',
  copied: 'Copied',
  notCopied: 'Not copied',
  codeBlock: 'Code',
  table: 'Table',
  taskDone: 'Done',
  taskOpen: 'To do',
  image: 'Image',
  imageLoad: 'Load image',
  imageFailed: 'The image from {host} could not be loaded.',
  // Tool calls, as screen readers hear them before their words.
  toolAsking: 'Waiting for you',
  toolRunning: 'Running',
  toolDone: 'Done',
  toolFailed: 'Failed',
  toolStopped: 'Stopped',
  delegated: 'Delegated to {name}',
  // Widgets.
  showTable: 'Show as table',
  showChart: 'Show as chart',
  label: 'Label',
  yes: 'Yes',
  no: 'No',
  choose: 'Please choose',
  chooseOne: 'Please choose at least one.',
  fieldMissing: 'Please fill this in.',
  fieldEmail: 'Enter an e-mail address like name@example.com.',
  fieldUrl: 'Enter a web address like https://example.com.',
  fieldShort: 'Characters needed: {limit} or more.',
  fieldMin: 'Not less than {limit}.',
  fieldMax: 'Not more than {limit}.',
  fieldBad: 'Please check this.',
  chosen: 'You chose: {choice}',
  sent: 'Sent',
  widgetBusy: 'Wait for the answer, then try again.',
  imageFrom: 'Image from {host}',
  stepActive: 'In progress',
  stepWaiting: 'To do',
  // Files.
  files: 'Files',
  attach: 'Attach files',
  fileAdded: '{name} is attached.',
  fileRemoved: '{name} was removed.',
  fileRemove: 'Remove {name}',
  fileRetry: 'Upload {name} again',
  fileUploading: 'Uploading {name}',
  fileWait: 'Wait until all files are uploaded.',
  fileUnsent: 'Some files were not uploaded. Try again or remove them.',
  fileFailed: 'Not uploaded. Try again.',
  fileTooMany: 'A message can have {limit} files.',
  fileType: '{name} cannot be attached. Choose one of these: {types}.',
  fileTooLarge: '{name} has {size}, the limit is {limit}.',
  fileEmpty: '{name} is empty.',
  // Tools of messages.
  messageTools: 'Message',
  copyMessage: 'Copy message',
  edit: 'Edit',
  good: 'Good answer',
  bad: 'Bad answer',
  feedback: 'Feedback',
  feedbackKept: 'Thanks for your feedback.',
  whyGood: 'What was good? (optional)',
  whyBad: 'What went wrong? (optional)',
  sendComment: 'Send comment',
  noComment: 'No comment',
  suggestions: 'Suggestions',
  thought: 'Thought for {seconds} s',
  toolName: 'Tool',
  toolTime: 'Time',
  seconds: '{seconds} s',
  steps: '{count} steps',
  stepsFailed: '{count} steps, {failed} failed',
  save: 'Save conversation',
  markdown: 'As Markdown',
  json: 'As JSON',
  olderMissing: 'Older messages are not in this file.',
  saved: 'The conversation was saved.',
  notSaved: 'The conversation could not be saved.',
  // Questions and notices.
  questions: 'Questions',
  questionOf: 'Question {at} of {count}',
  back: 'Back',
  next: 'Next',
  skip: 'Skip',
  dismiss: 'Dismiss',
  other: 'Something else',
  recommended: 'Recommended',
  appendTitle: 'Add this text to your message?',
  add: 'Add',
  details: 'Details',
  deny: 'Deny',
  allowOnce: 'Allow',
  mayUse: 'May the agent use \u201c{tool}\u201d?',
  retry: 'Retry',
  reconnect: 'Reconnect',
  continue: 'Continue',
  noticeDone: 'Done already: {names}.',
  noticeUnknown: 'May have acted: {names}.',
  notLoaded: 'This could not be loaded. Check the connection and try again.',
};

/** Given by the element's class: the language of a shadow root, as `texts` takes it. */
let speaker;

export function setSpeaker(words) {
  speaker = words;
}

/** The texts of a shadow root. */
export function textsOf(root) {
  return texts(speaker?.(root));
}

/**
 * `text(key, values)`: the words of a key, with `{name}` replaced by the value of that name. Words
 * may differ by number: `{ one, other, … }` by the plural rules of the locale, for `values.count`.
 * `strings` are the page's own words, which go before those of the language's `table`.
 */
function texts({ locale = 'en', direction = 'ltr', table, strings } = {}) {
  const own = (key) => strings?.[key] ?? table?.[key];
  const shown = (value) => (typeof value === 'number' ? new Intl.NumberFormat(locale).format(value) : (value ?? ''));
  const fill = (words, values) => {
    const chosen = typeof words === 'object' ? (words[new Intl.PluralRules(locale).select(values.count)] ?? words.other) : words;
    return chosen.replace(/\{(\w+)\}/g, (_, name) => shown(values[name]));
  };
  const text = (key, values = {}) => fill(own(key) ?? ENGLISH[key], values);
  text.locale = locale;
  text.direction = direction;
  /** A notice: English as it was told, other languages by what it is about. */
  text.notice = (english, [key, done, unknown] = []) => {
    const words = key && (own(`notice-${key}`) ?? table?.notice);
    if (!words) return english;
    const acted = [done && text('noticeDone', { names: done }), unknown && text('noticeUnknown', { names: unknown })];
    return [fill(words, {}), ...acted].filter(Boolean).join(' ');
  };
  return text;
}
