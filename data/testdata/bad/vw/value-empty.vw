1 |f a: b
