1 2 |f a
