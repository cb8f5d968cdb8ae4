package mf

import (
	"bellows/app/mf/internal/seen"
	"bellows/model"
)

// seenTensor is what each user has rated, in the model: users in the order of users.txt, see package seen.
const seenTensor = "seen"

// openSeen returns what users have seen by a model, nil where it does not say.
func openSeen(r *model.Reader, users, items int) *seen.Items {
	text := r.Bytes(seenTensor)
	if text == nil {
		return nil
	}
	s, ok := seen.Open(text, users, items)
	if !ok {
		_ = r.Refuse("tensor %s is not of %d users and %d items", seenTensor, users, items)
	}
	return s
}
