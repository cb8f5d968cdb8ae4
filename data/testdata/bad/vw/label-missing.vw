1 |f a
|f b
