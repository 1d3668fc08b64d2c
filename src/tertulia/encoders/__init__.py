"""What turns texts into vectors: sentence embeddings, and the neural encoders that rankers and labellers share."""
