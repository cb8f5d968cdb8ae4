1 'tag x |f a
