1 1 |f a
-1 0 |f b:x
