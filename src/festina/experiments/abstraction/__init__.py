"""Neural Task Abstractions: gates that learn which task is on, together with what the tasks are."""
