

# The end of every peer in Python: it answers requests, whose fields are separated by tabs, with numbers separated by blanks, or "error" and a
# sentence. The peer above has a dictionary of what answers them, and may read them from elsewhere than standard input.
for line in globals().get("asked", sys.stdin):
    request, *fields = line.rstrip("\n").split("\t")
    try:
        print(*answers[request](*fields), flush=True)
    except Exception as e:
        print("error", type(e).__name__, str(e).replace("\n", " "), flush=True)
