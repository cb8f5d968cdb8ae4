1 |f a
'tag |f b
