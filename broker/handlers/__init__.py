"""One module an API: request in, response out."""
