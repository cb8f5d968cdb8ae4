1 1e12 |f a
-1 1 |f b
