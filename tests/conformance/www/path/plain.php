No tags at all: the text is the page.
