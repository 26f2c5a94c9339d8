<html>
<?php foreach ([1, 2] as $n): ?>
 <p><?= $n ?></p>
<?php endforeach ?>
</html>
