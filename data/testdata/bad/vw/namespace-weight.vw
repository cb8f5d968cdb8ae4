1 |f:x a
