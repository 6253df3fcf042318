-- What is swept each minute is found without a look at all rows.
CREATE INDEX context_labels_by_hour ON context_labels (hour);
CREATE INDEX changes_by_action ON changes (action, at);
