"""One module for each phenomenon, one folder for each family."""
