"""Public corpora brought onto the machine: the catalogue and the downloader."""
