"""One module an API: its request and response for every version served."""
