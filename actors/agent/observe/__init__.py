"""`supervise observe`: the tree in a browser, served by the command itself on loopback; the agent serves none of it.

command.py    options, the link that is printed, how it ends
access.py     access to the page: the one-time token, the session, the Host and Origin of a request (pure)
queries.py    the questions to the agent, and the shape of the answers for the page
server.py     the HTTP server
page/         the files for the browser: one document, one style sheet, a few scripts; nothing is loaded from elsewhere
"""
