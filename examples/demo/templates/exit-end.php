<p>The rest of the page comes from a shutdown function, which PHP runs after <code>exit()</code>. In worker mode the
worker is still booted: an <code>exit()</code> costs a request, not a restart.</p>
<p class="actions"><a class="button" href="/trials/exit">Once more</a> <a class="button quiet" href="/#tour">Back to
the
trials</a></p>
</section>
