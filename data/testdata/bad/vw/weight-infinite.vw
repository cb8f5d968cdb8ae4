1 inf |f a
-1 1 |f b
