1 |f a
spam |f b
