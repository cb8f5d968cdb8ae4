1 1 |f a
-1 1e-60 |f b
