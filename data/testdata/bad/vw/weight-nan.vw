1 2 |f a
-1 nan 0 'tag|f b
