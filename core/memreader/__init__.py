"""memreader: raw conversations and documents become cited memory items that are found again."""
