"""Sockets: accept, frames in, parts out."""
