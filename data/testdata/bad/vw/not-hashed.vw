1 |f a
