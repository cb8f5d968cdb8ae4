1 1 |f a
-1 heavy |f b
