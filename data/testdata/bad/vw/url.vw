1 |f http://a.b/c
