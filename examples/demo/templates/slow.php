<h1>Slow tea</h1>
<p class="lead">Mira's tea takes three full minutes, here: three seconds. The others do not wait for it.</p>
<div class="panel race" data-race hidden>
<p><button class="button" type="button" data-race-start>Put the kettle on</button></p>
<div class="lane"><span class="who">Mira,
slow</span><div class="track"><div class="bar" data-race-bar></div></div></div>
<div class="lane"><span class="who">The others</span><div class="track dots" data-race-dots></div></div>
<p class="verdict" data-race-verdict role="status">Each dot will be an answer that arrived while the slow request was
waiting; each colour is a worker.</p>
</div>
<noscript><p>Without JavaScript: open <a href="/slow/wait">the slow page</a> in one tab and the
<a href="/journal">journal</a> in another.</p></noscript>
<p>The slow request is an ordinary page that sleeps: <a href="/slow/wait">open it alone</a>. With one worker
everybody would
stand behind it; a pool of workers has others free, and a worker with <code>concurrency</code> serves others itself
while
this one sleeps.</p>
