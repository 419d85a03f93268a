"""What both brokers are asked, in order; one module for each part of the protocol."""
